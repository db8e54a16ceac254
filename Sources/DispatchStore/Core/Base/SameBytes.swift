import Foundation

/// Whether two values have the same bytes, with references compared by address.
///
/// Always inlined: the size of a user's type is known only in its module. Saves 12 % of `sync-operation`.
@inlinable
@inline(__always)
func haveSameBytes<Value>(_ first: Value, _ second: Value) -> Bool {
  withUnsafeBytes(of: first) { first in
    withUnsafeBytes(of: second) { second in
      guard first.count > 8 else {
        return first.indices.allSatisfy { first[$0] == second[$0] }
      }
      return haveSameBytes(first.baseAddress!, second.baseAddress!, first.count)
    }
  }
}

@usableFromInline
func haveSameBytes(
  _ first: UnsafeRawPointer, _ second: UnsafeRawPointer, _ count: Int
) -> Bool {
  memcmp(first, second, count) == 0
}
