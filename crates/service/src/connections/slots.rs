//! Counts of open connections, per port and per address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ConnectionLimits;

/// The numbers of open connections of a port, by network.
#[derive(Debug, Default)]
pub(super) struct Slots(Mutex<BTreeMap<IpAddr, usize>>);

/// The slot of an open connection. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    network: IpAddr,
}

/// Why a connection got no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Full {
    #[error("{0} connections of this port are open, the most that it takes")]
    Port(usize),
    #[error("{0} connections of this address are open, the most that it may have")]
    Address(usize),
}

impl Slots {
    /// Takes a slot for a connection from `address`.
    pub(super) fn take(
        slots: &Arc<Self>,
        address: IpAddr,
        limits: &ConnectionLimits,
    ) -> Result<Slot, Full> {
        let network = network(address);
        let mut open = slots.counts();
        if open.values().sum::<usize>() >= limits.per_port {
            return Err(Full::Port(limits.per_port));
        }
        let count = open.entry(network).or_insert(0);
        if *count >= limits.per_address {
            return Err(Full::Address(limits.per_address));
        }
        *count += 1;
        Ok(Slot { slots: Arc::clone(slots), network })
    }

    /// Locks the counts. A poisoned lock is safe to use, because each change is one assignment.
    fn counts(&self) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.counts();
        if let Some(count) = open.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.network);
            }
        }
    }
}

/// The network that the cap per address applies to: one IPv4 address, or the /64 network that an
/// IPv6 host usually has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(per_port: usize, per_address: usize) -> ConnectionLimits {
        ConnectionLimits { per_port, per_address, ..ConnectionLimits::for_files(1_024) }
    }

    #[test]
    fn an_address_and_the_port_have_caps_of_their_own() {
        let (slots, limits) = (Arc::new(Slots::default()), limits(3, 2));
        let take = |address: &str| Slots::take(&slots, address.parse().unwrap(), &limits);
        let mut held = vec![take("10.0.0.1").unwrap(), take("::ffff:10.0.0.1").unwrap()];
        assert_eq!(take("10.0.0.1").unwrap_err(), Full::Address(2));
        held.push(take("10.0.0.2").unwrap());
        assert_eq!(take("10.0.0.3").unwrap_err(), Full::Port(3));
        held.clear();
        assert!(slots.counts().is_empty());
        assert!(take("10.0.0.1").is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let (slots, limits) = (Arc::new(Slots::default()), limits(9, 1));
        let take = |address: &str| Slots::take(&slots, address.parse().unwrap(), &limits);
        let _held = take("2001:db8::1").unwrap();
        assert_eq!(take("2001:db8::2").unwrap_err(), Full::Address(1));
        assert!(take("2001:db8:0:1::1").is_ok());
    }

    #[test]
    fn connections_leave_files_to_the_process() {
        for files in [16, 64, 256, 1_024, 65_536] {
            let limits = ConnectionLimits::for_files(files);
            let taken = 3 * limits.per_port as u64;
            assert!(taken + files.min(512) / 2 <= files, "{files}: {limits:?}");
            assert!(limits.per_address >= 1 && limits.per_address < limits.per_port, "{files}");
        }
    }
}
