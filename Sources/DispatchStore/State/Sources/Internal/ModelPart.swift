/// A part of a store's model, read in place if it is stored inline.
@usableFromInline
struct ModelPart<Model: Sendable, Value>: Sendable {
  @usableFromInline let path: any KeyPath<Model, Value> & Sendable
  /// The part's offset in the model; nil if it is computed, or stored behind a reference.
  @usableFromInline let offset: Int?

  @inlinable
  init(_ path: any KeyPath<Model, Value> & Sendable) {
    self.path = path
    offset = MemoryLayout<Model>.offset(of: path)
  }

  /// Calls a closure with the part of the model at this address, in the store's exclusive section.
  @inlinable
  func read<Result>(of model: UnsafeRawPointer, _ body: (UnsafePointer<Value>) -> Result) -> Result
  {
    if let offset {
      return body((model + offset).assumingMemoryBound(to: Value.self))
    }
    let part = model.assumingMemoryBound(to: Model.self).pointee[keyPath: path]
    return withUnsafePointer(to: part, body)
  }
}
