import Synchronization

/// Whether the caller has the only strong reference to an object, and so may reuse it.
///
/// The count alone is a relaxed load: on arm64 the thread could still read what the object held before
/// the other threads dropped their references. The fence orders their last accesses before its own.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireDroppedReferences()
  return true
}

/// The same for an optional; false for nil.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object?) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireDroppedReferences()
  return true
}

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
