/// What a part of the library keeps with a store, until the store is gone: a subclass for each such part.
///
/// In a list, because stores mostly have none, and hardly one has two. The store's lock guards the list.
class StoreAttachment: @unchecked Sendable {
  // because the store's lock guards what changes
  fileprivate final var next: Unmanaged<StoreAttachment>?

  deinit {
    next?.release()
  }
}

extension StoreStorage {
  /// The attachment of a type, under the lock; nil where the store has none.
  ///
  /// Unmanaged, because it stays for as long as the store, and counting references would double the cost of a read.
  final func attachment<Attachment: StoreAttachment>(
    _ type: Attachment.Type
  ) -> Unmanaged<Attachment>? {
    var next = attachments
    while let attachment = next {
      if attachment._withUnsafeGuaranteedRef({ Swift.type(of: $0) == type }) {
        return .fromOpaque(attachment.toOpaque())
      }
      next = attachment._withUnsafeGuaranteedRef(\.next)
    }
    return nil
  }

  /// The same, which is added where the store has none.
  final func attachment<Attachment: StoreAttachment>(
    orAdd make: @autoclosure () -> Attachment
  ) -> Attachment {
    if let attachment = attachment(Attachment.self) { return attachment.takeUnretainedValue() }
    let attachment = make()
    attachment.next = attachments
    attachments = .passRetained(attachment)
    return attachment
  }
}
