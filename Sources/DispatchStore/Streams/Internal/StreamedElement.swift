/// An element as it is kept: without its type, so that no generic type is looked up where a stream keeps it.
@usableFromInline
class StreamedElement: @unchecked Sendable {
  // because subclasses are constant
  @usableFromInline
  init() {}
}

/// The same with its type.
@usableFromInline
final class Streamed<Element: Sendable>: StreamedElement, @unchecked Sendable {
  // because its superclass is, and it is constant
  @usableFromInline let element: Element

  @inlinable
  init(_ element: Element) {
    self.element = element
    super.init()
  }

  /// The element of a stream of this type; unsafe, because a checked cast would take longer than all else.
  @inlinable
  static func of(_ kept: StreamedElement) -> Element {
    unsafeDowncast(kept, to: Streamed<Element>.self).element
  }
}
