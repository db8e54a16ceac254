import Synchronization

/// Whether the caller has the only reference to an object, which may then be used again.
///
/// `isKnownUniquelyReferenced` alone is a relaxed load: on arm64, what a thread wrote before it released its
/// reference might not be seen yet, and the object would be used again with the answer of its last use. The
/// fence orders the new use after that.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireFence()
  return true
}

/// The same for an object that may be missing.
@inlinable
func isUniquelyReferencedForReuse<Object: AnyObject>(_ object: inout Object?) -> Bool {
  guard isKnownUniquelyReferenced(&object) else { return false }
  acquireFence()
  return true
}

@usableFromInline
func acquireFence() {
  atomicMemoryFence(ordering: .acquiring)
}
