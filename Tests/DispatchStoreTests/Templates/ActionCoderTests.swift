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
    String(decoding: try coder.encode(action, with: Self.json), as: UTF8.self)
  }

  @Test func encodesTypeAndPayload() throws {
    #expect(
      try text(Deposit(amount: 5))
        == #"{"payload":{"amount":5},"type":"ActionCoderTests.Deposit"}"#)
    #expect(try text(Move.by(2)) == #"{"payload":{"by":{"_0":2}},"type":"move"}"#)
    #expect(try text(FetchTodos.action(3)) == #"{"payload":3,"type":"FetchTodos"}"#)
    #expect(try text(ClearTodos.action()) == #"{"type":"ClearTodos"}"#)
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
      let json = try coder.encode(action, with: JSONEncoder())
      expectSame(action, try coder.decode(json, with: JSONDecoder()))
      let list = try coder.encode(action, with: PropertyListEncoder())
      expectSame(action, try coder.decode(list, with: PropertyListDecoder()))
      let plain = try coder.encode(action, with: PlainEncoder())
      expectSame(action, try coder.decode(plain, with: PlainDecoder()))
    }
  }

  @Test func listsOfActionsAreEncodedAndDecodedAsOthers() throws {
    let actions = [EncodedAction(Deposit(amount: 1)), EncodedAction(ClearTodos.action())]
    let data = try coder.encodeValue(["log": actions], with: JSONEncoder())
    let log = try coder.decodeValue([String: [EncodedAction]].self, from: data, with: JSONDecoder())
    #expect(log["log"]?.map { type(of: $0.action) == Deposit.self } == [true, false])
    let decoder = JSONDecoder()
    decoder.userInfo[.actionCoder] = coder
    #expect(try decoder.decode([String: [EncodedAction]].self, from: data)["log"]?.count == 2)
  }

  @Test func aTypeMayHaveAnotherNameAndFormerOnes() throws {
    var coder = ActionCoder()
    coder.register(Deposit.self, as: "pay-in")
    coder.register(Deposit.self, as: "deposit")
    #expect(coder.actionNames == ["deposit", "pay-in"])
    let plain = try coder.encode(Deposit(amount: 1), with: PlainEncoder())
    #expect(plain["type"] == "deposit")
    let former: PlainValue = ["type": "pay-in", "payload": ["amount": 4]]
    #expect(try coder.decode(former, with: PlainDecoder()) as? Deposit == Deposit(amount: 4))
  }

  @Test func anUnknownTypeIsAnErrorThatNamesItAndTheKnownOnes() throws {
    let form: PlainValue = ["type": "Withdraw", "payload": [:]]
    #expect {
      try ActionCoder(Move.self, ClearTodos.Action.self).decode(form, with: PlainDecoder())
    } throws: { error in
      "\(error)".hasPrefix(
        "No action type is registered as \"Withdraw\"; the coder knows ClearTodos, move.")
    }
  }

  @Test func aPayloadOfAnotherFormIsAnErrorThatSaysWhere() throws {
    let form: PlainValue = ["type": "ActionCoderTests.Deposit", "payload": ["amount": "five"]]
    #expect {
      try coder.decode(form, with: PlainDecoder())
    } throws: { error in
      guard case DecodingError.typeMismatch(_, let context) = error else { return false }
      return context.codingPath.map(\.stringValue) == ["payload", "amount"]
    }
  }

  @Test func anActionThatIsNotEncodableAndAFormWithoutCoderAreErrors() throws {
    #expect(throws: ActionCodingError.self) { try coder.encode(Secret(), with: PlainEncoder()) }
    let form: PlainValue = ["type": "move", "payload": ["up": [:]]]
    #expect(throws: ActionCodingError.self) {
      try PlainDecoder().decode(EncodedAction.self, from: form)
    }
  }
}
