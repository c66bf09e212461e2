use std::hash::{BuildHasher, Hash};

use super::Fragile;
use super::hasher::Hasher;
use crate::scheduler::Wish;

/// What the user asks for.
pub(crate) enum Request<K> {
    /// A worker of the sole bucket.
    Sole,
    /// Any worker.
    Any,
    /// A worker for this key.
    Of(Hashed<K>),
}

/// A key, and its hash, for which the user's code is asked once.
pub(crate) struct Hashed<K> {
    pub(super) hash: u64,
    pub(super) key: Fragile<K>,
}

impl<K: Hash> Hashed<K> {
    pub(super) fn new(key: K, hasher: &Hasher) -> Self {
        let key = Fragile::new(key);
        Self { hash: hasher.hash_one(&*key), key }
    }
}

impl<K: Clone> Request<K> {
    /// Another request for the same.
    pub(super) fn same(&self) -> Self {
        match self {
            Self::Sole => Self::Sole,
            Self::Any => Self::Any,
            Self::Of(Hashed { hash, key }) => {
                Self::Of(Hashed { hash: *hash, key: Fragile::new(K::clone(key)) })
            }
        }
    }

    pub(super) fn key(&self) -> Option<K> {
        match self {
            Self::Of(hashed) => Some(K::clone(&hashed.key)),
            Self::Sole | Self::Any => None,
        }
    }

    pub(super) fn wish<'a>(&'a self, full: Option<&'a Hashed<K>>) -> Wish<'a, K> {
        match (self, full) {
            (Self::Sole, _) => Wish::Sole,
            (Self::Of(Hashed { hash, key }), _) => Wish::Of { hash: *hash, key },
            (Self::Any, Some(Hashed { hash, key })) => Wish::AnyOnceRoom { hash: *hash, key },
            (Self::Any, None) => Wish::Any,
        }
    }
}
