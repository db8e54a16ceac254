#if SQLite || PostgreSQL
  /// Whether bytes are valid UTF-8.
  func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }
#endif
