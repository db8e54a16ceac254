/// An object that a part of the library keeps with a store until the store is gone.
///
/// Each such part has a subclass.
///
/// Kept in a linked list, because most stores have none, and hardly any has two. The store's lock guards the list.
class StoreAttachment: @unchecked Sendable {
  // because the store's lock guards all mutable state
  fileprivate final var next: Unmanaged<StoreAttachment>?

  deinit {
    next?.release()
  }
}

extension StoreStorage {
  /// Returns the attachment of a type, or nil if the store has none.
  ///
  /// Called under the lock.
  ///
  /// Unmanaged, because it lives as long as the store, and reference counting would double the cost of a read.
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

  /// Returns the attachment of a type, adding one if the store has none.
  ///
  /// Called under the lock.
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
