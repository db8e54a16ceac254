/// An action in its encoded form: `{"type": …, "payload": …}`.
///
/// Any encoder encodes one, alone or as a part of other values. To decode one, a decoder needs the types: an
/// `ActionCoder`, in its `userInfo` under `.actionCoder`, or by calling `ActionCoder.decode(_:with:)`. An
/// action without a payload has none in its form.
public struct EncodedAction: Codable, Sendable {
  /// The action.
  public let action: AnyAction

  private enum Key: String, CodingKey {
    case type, payload
  }

  /// Makes one.
  public init(_ action: AnyAction) {
    self.action = action
  }

  /// Encodes the action's name and the action.
  ///
  /// Throws an `ActionCodingError` for an action that is not encodable.
  public func encode(to encoder: any Encoder) throws {
    guard let action = action as? any EncodableAction else {
      throw ActionCodingError.notEncodable(type(of: self.action))
    }
    let coder = ActionCoder.inScope(encoder.userInfo)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(coder?.name(of: action) ?? type(of: action).actionName, forKey: .type)
    if action is any PayloadFree { return }
    try container.encode(action, forKey: .payload)
  }

  /// Decodes an action of one of the types that the `ActionCoder` knows.
  ///
  /// Throws an `ActionCodingError` where it does not know the type, or there is no coder.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decode(String.self, forKey: .type)
    guard let coder = ActionCoder.inScope(decoder.userInfo) else {
      throw ActionCodingError.noCoder(name: name)
    }
    let type = try coder.actionType(named: name)
    if let type = type as? any PayloadFree.Type {
      action = type.init()
    } else {
      action = try container.decode(type, forKey: .payload)
    }
  }
}

/// An action that has no payload to encode.
private protocol PayloadFree: ActionType {
  init()
}

extension TemplateAction: PayloadFree where Template.Payload == NoPayload {
  fileprivate init() {
    self.init(payload: NoPayload())
  }
}
