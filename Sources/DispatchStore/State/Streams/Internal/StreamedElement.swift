/// A type-erased element in a buffer.
///
/// Without a generic type, keeping it needs no type metadata lookup.
@usableFromInline
class StreamedElement: @unchecked Sendable {
  // because subclasses are constant
  @usableFromInline
  init() {}
}

/// An element in a buffer, with its type.
@usableFromInline
final class Streamed<Element: Sendable>: StreamedElement, @unchecked Sendable {
  // because its superclass is, and it is constant
  @usableFromInline let element: Element

  @inlinable
  init(_ element: Element) {
    self.element = element
    super.init()
  }

  /// Returns the element of a stream of this type.
  ///
  /// Unchecked, because a checked cast would cost more than the rest.
  @inlinable
  static func of(_ kept: StreamedElement) -> Element {
    unsafeDowncast(kept, to: Streamed<Element>.self).element
  }
}
