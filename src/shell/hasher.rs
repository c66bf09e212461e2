/// How keys are hashed: at random, so that nobody can make them collide.
#[cfg(not(loom))]
pub(super) type Hasher = std::hash::RandomState;

/// A model checker wants the same each time.
#[cfg(loom)]
pub(super) type Hasher = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;
