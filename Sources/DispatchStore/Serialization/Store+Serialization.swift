extension Store where Model: Encodable {
  /// Encodes a snapshot of the model: to JSON, to a property list, or with `PlainEncoder` to a plain tree.
  ///
  /// On the calling thread, outside the exclusive section: commits meanwhile copy the model, and don't wait.
  public func encodeModel<Encoder: ValueEncoder>(with encoder: Encoder) throws -> Encoder.Output {
    try encoder.encode(model)
  }
}

extension Store where Model: Decodable {
  /// Replaces the model by one that was encoded: one commit, as `inject(model:action:)` makes it.
  ///
  /// Decoded before, on the calling thread, outside the exclusive section. If that throws, the store is not changed.
  ///
  /// - Parameters:
  ///   - input: What the encoder has returned.
  ///   - decoder: The decoder.
  ///   - action: The action that observers get with the change.
  public func inject<Decoder: ValueDecoder>(
    decoding input: Decoder.Input, with decoder: Decoder, action: Action? = nil
  ) throws {
    inject(model: try decoder.decode(Model.self, from: input), action: action)
  }
}
