use slab::Slab;

/// A doubly linked list through the nodes of a slab; a node may have links of several chains.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chain {
    oldest: Option<usize>,
    newest: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Links {
    older: Option<usize>,
    newer: Option<usize>,
}

impl Chain {
    #[inline]
    pub fn oldest(&self) -> Option<usize> {
        self.oldest
    }

    #[inline]
    pub fn newest(&self) -> Option<usize> {
        self.newest
    }

    #[inline]
    pub fn push<T>(
        &mut self,
        nodes: &mut Slab<T>,
        links: impl Fn(&mut T) -> &mut Links,
        node: usize,
    ) {
        *links(&mut nodes[node]) = Links { older: self.newest, newer: None };
        match self.newest.replace(node) {
            Some(older) => links(&mut nodes[older]).newer = Some(node),
            None => self.oldest = Some(node),
        }
    }

    #[inline]
    pub fn unlink<T>(
        &mut self,
        nodes: &mut Slab<T>,
        links: impl Fn(&mut T) -> &mut Links,
        node: usize,
    ) {
        let Links { older, newer } = *links(&mut nodes[node]);
        match older {
            Some(older) => links(&mut nodes[older]).newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => links(&mut nodes[newer]).older = older,
            None => self.newest = older,
        }
    }
}
