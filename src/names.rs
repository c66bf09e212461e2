/// What an enumeration whose values are told to people offers: all of them, and a word for each.
///
/// Each variant is named once, and the compiler sees to it that none is missing.
macro_rules! impl_names {
    ($type:ident { $($variant:ident: $name:literal),+ $(,)? }) => {
        impl $type {
            /// All there are, in the order of their declaration.
            ///
            /// # Example
            ///
            /// ```
            #[doc = concat!("use sfo_pool::", stringify!($type), ";")]
            ///
            #[doc = concat!("let names: Vec<_> = ", stringify!($type), "::ALL.iter().map(|it| it.name()).collect();")]
            #[doc = concat!("assert_eq!(names, [", $("\"", $name, "\", ",)+ "]);")]
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// One word, in lower case, for a log or as the value of a label.
            ///
            /// # Example
            ///
            /// See [`ALL`](Self::ALL).
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use impl_names;
