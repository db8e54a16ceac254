import Synchronization

/// Whether the caller has the only reference to an object, and so may use it again.
///
/// The count alone is a relaxed load: on arm64 the thread could still read what the object held before
/// the other threads dropped their references. The fence orders their last accesses before its own.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireDroppedReferences()
  return true
}

/// The same for an optional one; false where there is none.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object?) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireDroppedReferences()
  return true
}

/// Not inlined into users' modules, which would have to import `Synchronization` for it.
@usableFromInline
func acquireDroppedReferences() {
  atomicMemoryFence(ordering: .acquiring)
}
