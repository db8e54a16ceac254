import Foundation
import Testing

@testable import DispatchStore

private struct Pay: ActionType, Codable, Equatable { let order: Int }

@Suite("Forgotten idempotency keys", .timeLimit(.minutes(10)))
struct ForgottenKeyTests {
  private let removed = Recorder<CompanionRow>()

  /// Keeps the removals of rows, which it has not saved.
  private var keeper: CompanionKeeper {
    CompanionKeeper(
      decode: { _, _ in throw CancellationError() }, hasAll: { _, _ in false },
      decodeAction: { _ in Pay(order: 0) }, name: { _ in nil }, actionType: { _ in nil },
      obstacle: { _ in nil },
      save: { [removed] rows in for row in rows { removed.record(row) } }, saveWithNext: { _ in },
      whenSaved: { $0(true) }, whenOwner: { $0(true) }, hasFailed: { false })
  }

  @Test func leaveTheRowThatTheNextDispatchHasSaved() {
    let table = IdempotencyTable(DispatcherClock(nil), savedBy: keeper)
    func begin() -> KeyedDispatch {
      let key = IdempotencyKey(text: "k", period: .max, remembersFailures: false)
      let keyed = KeyedDispatch(key, .action(KeyedValue(Pay(order: 1))), Dispatch(), in: table)
      #expect(table.begin(key.text) { keyed } == nil)
      return keyed
    }
    func commit(_ keyed: KeyedDispatch) { _ = keyed.rows(with: [:], from: ["orders"]) }
    func end(_ keyed: KeyedDispatch) {
      let result = DispatchResult(dispatchID: keyed.dispatch.id, identifiers: ["orders"])
      keyed.ended(result, of: keyed.dispatch.makeDetails())
    }
    let first = begin()
    commit(first)
    end(first)
    #expect(table.forget("k"))
    let row = removed.all[0]
    #expect(row.isCurrent?() == true, "No other dispatch has the key.")
    let next = begin()
    #expect(row.isCurrent?() == true, "The next one has saved nothing.")
    commit(next)
    #expect(row.isCurrent?() == false)
    end(next)
    #expect(row.isCurrent?() == false)
  }
}
