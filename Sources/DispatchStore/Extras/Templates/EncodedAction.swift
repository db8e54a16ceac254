/// An action in its encoded form: `{"type": …, "payload": …}`.
///
/// You can encode it with any encoder, alone or inside other values. To decode it, a decoder needs the action types:
/// an `ActionCoder` in its `userInfo` under `.actionCoder`. If an action has no payload, the form has none.
public struct EncodedAction: Codable, Sendable {
  /// The action.
  public let action: AnyAction

  private enum Key: String, CodingKey {
    case type, payload
  }

  /// Makes an encoded form of an action; one in its wrapping (`HandledAction`), as observers get it, is taken out of it.
  public init(_ action: AnyAction) {
    self.action = HandledAction.unwrapped(action)
  }

  /// Encodes the action's name and the action.
  ///
  /// Throws an `ActionCodingError` if the action is not encodable.
  public func encode(to encoder: any Encoder) throws {
    guard let action = action as? any CodableAction else {
      throw ActionCodingError.notEncodable(type(of: self.action))
    }
    let coder = encoder.userInfo[.actionCoder] as? ActionCoder
    var container = encoder.container(keyedBy: Key.self)
    let actionType = type(of: action)
    try container.encode(coder?.name(of: actionType) ?? actionType.actionName, forKey: .type)
    if action is any PayloadFree { return }
    try container.encode(action, forKey: .payload)
  }

  /// Decodes an action of one of the types that the `ActionCoder` knows.
  ///
  /// Throws an `ActionCodingError` if the coder does not know the type, or if there is no coder.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decode(String.self, forKey: .type)
    guard let coder = decoder.userInfo[.actionCoder] as? ActionCoder else {
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
