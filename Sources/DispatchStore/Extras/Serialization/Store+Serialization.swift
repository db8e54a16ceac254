extension Store where Model: Encodable {
  /// Encodes a snapshot of the model: to JSON, to a property list, or with `PlainEncoder` to a plain tree.
  ///
  /// Encodes on the calling thread, outside the exclusive section. Commits don't wait; a commit meanwhile triggers
  /// copy-on-write of the model.
  public func encodeModel<Encoder: ValueEncoder>(with encoder: Encoder) throws -> Encoder.Output {
    try encoder.encode(model)
  }
}

extension Store where Model: Decodable {
  /// Replaces the model with a decoded one, in one commit like `inject(model:action:)`.
  ///
  /// Decoding comes first, on the calling thread, outside the exclusive section. If it throws, the store is
  /// unchanged.
  ///
  /// - Parameters:
  ///   - input: The encoded model, as returned by the encoder.
  ///   - decoder: The decoder.
  ///   - action: The action that observers get with the change.
  public func inject<Decoder: ValueDecoder>(
    decoding input: Decoder.Input, with decoder: Decoder, action: Action? = nil
  ) throws {
    inject(model: try decoder.decode(Model.self, from: input), action: action)
  }
}
