import Synchronization

/// Whether the caller has the only strong reference to an object, and so may reuse it.
///
/// The count alone is a relaxed load. On arm64 the thread could still read the object's contents from before other
/// threads dropped their references. The fence orders their last accesses before this thread's.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireDroppedReferences()
  return true
}

/// Whether the caller has the only strong reference to an optional object; false for nil.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object?) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireDroppedReferences()
  return true
}

/// Orders the last accesses of threads that dropped their references before this thread's.
///
/// Not inlined into other modules, which would have to import `Synchronization` for it.
@usableFromInline
func acquireDroppedReferences() {
  atomicMemoryFence(ordering: .acquiring)
}

/// Whether an object has no weak or unowned references, by which other code could reach it again.
///
/// The caller has the only strong reference to it.
@usableFromInline
func hasNoWeakOrUnownedReferences(_ object: AnyObject) -> Bool {
  #if canImport(ObjectiveC)
    // The runtime does not reveal associated objects and weak references there.
    false
  #else
    _getWeakRetainCount(object) == 1 && _getUnownedRetainCount(object) == 1
  #endif
}
