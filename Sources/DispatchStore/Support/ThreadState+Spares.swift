/// Objects to be given out again, for code that is inlined elsewhere.
extension ThreadState {
  @usableFromInline
  static func takeSpareOperation(_ type: ObjectIdentifier, for store: StoreStorage) -> AnyObject? {
    current(by: store.threadKey).spareOperations.take(type)
  }

  @usableFromInline
  func keepSpareOperation(_ operation: AnyObject, of type: ObjectIdentifier) {
    self.spareOperations.put(operation, of: type)
  }

  @usableFromInline
  func takeSpareToken(_ type: ObjectIdentifier) -> AnyObject? {
    self.spareTokens.take(type)
  }

  @usableFromInline
  func keepSpareToken(_ token: AnyObject, of type: ObjectIdentifier) {
    self.spareTokens.put(token, of: type)
  }

  /// Whether nobody but the caller, who has the one strong reference, could find an object again.
  @usableFromInline
  static func isUnseen(_ object: AnyObject) -> Bool {
    #if canImport(ObjectiveC)
      // What else is attached to an object there is not known.
      false
    #else
      _getWeakRetainCount(object) == 1 && _getUnownedRetainCount(object) == 1
    #endif
  }
}
