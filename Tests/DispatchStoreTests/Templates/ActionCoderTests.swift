import DispatchStore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ActionCoderTests {
  private struct Deposit: CodableAction, Equatable {
    var amount: Int
    var note: String?
  }

  private enum Move: CodableAction, Equatable {
    case up
    case by(Int)
    static var actionName: String { "move" }
  }

  private struct Secret: ActionType {}

  private let coder = ActionCoder(
    Deposit.self, Move.self, FetchTodos.Action.self, ClearTodos.Action.self)

  private static var json: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }

  private func text(_ action: AnyAction) throws -> String {
    String(decoding: try Self.json.encode(EncodedAction(action)), as: UTF8.self)
  }

  private func decode(_ form: PlainValue, by coder: ActionCoder) throws -> AnyAction {
    var decoder = PlainDecoder()
    decoder.userInfo[.actionCoder] = coder
    return try decoder.decode(EncodedAction.self, from: form).action
  }

  @Test func encodesTypeAndPayload() throws {
    #expect(
      try text(Deposit(amount: 5))
        == #"{"payload":{"amount":5},"type":"ActionCoderTests.Deposit"}"#)
    #expect(try text(Move.by(2)) == #"{"payload":{"by":{"_0":2}},"type":"move"}"#)
    #expect(try text(FetchTodos.action(3)) == #"{"payload":3,"type":"FetchTodos"}"#)
    #expect(try text(ClearTodos.action()) == #"{"type":"ClearTodos"}"#)
    // As an observer of a store of handlers gets it.
    #expect(try text(HandledAction(Move.by(2))) == text(Move.by(2)))
  }

  @Test func decodesWhatItHasEncodedInEachForm() throws {
    let actions: [any CodableAction & Equatable] = [
      Deposit(amount: 5, note: "n"), Move.up, Move.by(-1), FetchTodos.action(3),
      ClearTodos.action(),
    ]
    func expectSame<Action: Equatable>(_ action: Action, _ other: AnyAction) {
      #expect(other as? Action == action)
    }
    for action in actions {
      let form = EncodedAction(action)
      let jsonDecoder = JSONDecoder()
      jsonDecoder.userInfo[.actionCoder] = coder
      let json = try JSONEncoder().encode(form)
      expectSame(action, try jsonDecoder.decode(EncodedAction.self, from: json).action)
      let listDecoder = PropertyListDecoder()
      listDecoder.userInfo[.actionCoder] = coder
      let list = try PropertyListEncoder().encode(form)
      expectSame(action, try listDecoder.decode(EncodedAction.self, from: list).action)
      expectSame(action, try decode(PlainEncoder().encode(form), by: coder))
    }
  }

  @Test func listsOfActionsAreEncodedAndDecodedAsOthers() throws {
    let actions = [EncodedAction(Deposit(amount: 1)), EncodedAction(ClearTodos.action())]
    let data = try JSONEncoder().encode(["log": actions])
    let decoder = JSONDecoder()
    decoder.userInfo[.actionCoder] = coder
    let log = try decoder.decode([String: [EncodedAction]].self, from: data)
    #expect(log["log"]?.map { type(of: $0.action) == Deposit.self } == [true, false])
  }

  @Test func aTypeMayHaveAnotherNameAndFormerOnes() throws {
    var coder = ActionCoder()
    coder.register(Deposit.self, as: "pay-in")
    coder.register(Deposit.self, as: "deposit")
    var encoder = PlainEncoder()
    encoder.userInfo[.actionCoder] = coder
    #expect(try encoder.encode(EncodedAction(Deposit(amount: 1)))["type"] == "deposit")
    let former: PlainValue = ["type": "pay-in", "payload": ["amount": 4]]
    #expect(try decode(former, by: coder) as? Deposit == Deposit(amount: 4))
  }

  @Test func anUnknownTypeIsAnErrorThatNamesItAndTheKnownOnes() throws {
    let form: PlainValue = ["type": "Withdraw", "payload": [:]]
    #expect {
      try decode(form, by: ActionCoder(Move.self, ClearTodos.Action.self))
    } throws: { error in
      "\(error)".hasPrefix(
        "No action type is registered as \"Withdraw\"; the coder knows ClearTodos, move.")
    }
  }

  @Test func aPayloadOfAnotherFormIsAnErrorThatSaysWhere() throws {
    let form: PlainValue = ["type": "ActionCoderTests.Deposit", "payload": ["amount": "five"]]
    #expect {
      try decode(form, by: coder)
    } throws: { error in
      guard case DecodingError.typeMismatch(_, let context) = error else { return false }
      return context.codingPath.map(\.stringValue) == ["payload", "amount"]
    }
  }

  @Test func anActionThatIsNotEncodableAndAFormWithoutCoderAreErrors() throws {
    #expect(throws: ActionCodingError.self) { try PlainEncoder().encode(EncodedAction(Secret())) }
    let form: PlainValue = ["type": "move", "payload": ["up": [:]]]
    #expect(throws: ActionCodingError.self) {
      try PlainDecoder().decode(EncodedAction.self, from: form)
    }
  }
}
