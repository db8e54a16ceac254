// Only the payload is encoded here; the encoded form has the type beside it.
extension TemplateAction: Encodable where Template.Payload: Encodable {
  /// Encodes the payload.
  public func encode(to encoder: any Encoder) throws {
    try payload.encode(to: encoder)
  }
}

extension TemplateAction: Decodable where Template.Payload: Decodable {
  /// Decodes the payload.
  public init(from decoder: any Decoder) throws {
    self.init(payload: try Template.Payload(from: decoder))
  }
}

extension TemplateAction: CodableAction where Template.Payload: Codable {
  /// The template's `id`.
  public static var actionName: String { Template.id }
}
