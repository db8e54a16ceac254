import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("Inbox with priorities", .timeLimit(.minutes(10)))
struct PriorityInboxTests {
  typealias Level = PriorityInbox.Level

  private func make(_ level: Level) -> Dispatch {
    let dispatch = Dispatch()
    if level != .normal { dispatch.makeDetails().priority = level }
    return dispatch
  }

  private func areSame(_ some: [Dispatch], _ others: [Dispatch]) -> Bool {
    some.elementsEqual(others, by: ===)
  }

  @Test func goesByPriorityAndThenByPlace() {
    var inbox = PriorityInbox()
    let levels: [Level] = [.low, .normal, .high, .low, .veryLow, .high, .normal, .veryHigh]
    let all = levels.map(make)
    for dispatch in all {
      if dispatch.details != nil { inbox.expect() }
      inbox.append(dispatch, keepsPlace: false)
    }
    let order = [7, 2, 5, 1, 6, 0, 3, 4].map { all[$0] }
    #expect(areSame(inbox.inOrder, order))
    #expect(areSame(inbox.inPlaceOrder, all))
    for dispatch in order {
      #expect(!inbox.isDone && inbox.first === dispatch)
      #expect(inbox.popFirst() === dispatch)
    }
    #expect(inbox.isDone && inbox.popFirst() == nil)
  }

  @Test func isDoneOnceNothingIsExpectedAndNothingWaits() {
    var inbox = PriorityInbox()
    inbox.expect()
    #expect(inbox.isEmpty && !inbox.isDone)
    inbox.append(make(.high), keepsPlace: false)
    _ = inbox.popFirst()
    #expect(inbox.isDone)
  }

  /// Whatever is drawn, as a search among all that wait does it.
  @Test(arguments: 0..<200)
  func doesWhatAPlainModelDoes(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var (inbox, model) = (PriorityInbox(), PlainInbox())
    for _ in 0..<200 {
      if Int.random(in: 0..<5, using: &random) < 3 {
        let level = Level.allCases.randomElement(using: &random)!
        let entry = PlainInbox.Entry(
          make(level), level, keepsPlace: Int.random(in: 0..<4, using: &random) == 0)
        if level != .normal { inbox.expect() }
        inbox.append(entry.dispatch, keepsPlace: entry.keepsPlace)
        model.waiting.append(entry)
      } else {
        #expect(inbox.first === model.next?.dispatch)
        #expect(inbox.popFirst() === model.popFirst())
      }
    }
    while let next = model.popFirst() { #expect(inbox.popFirst() === next) }
    #expect(inbox.isDone)
  }

  @Test func noneStarvesAndNoneThatKeepsItsPlaceOvertakes() {
    var (inbox, starts) = (PriorityInbox(), [Dispatch]())
    let early = (0..<3).map { _ in make(.veryLow) }
    let waiting = make(.high)
    for dispatch in early + [waiting] {
      inbox.expect()
      inbox.append(dispatch, keepsPlace: dispatch === waiting)
    }
    while starts.last !== waiting {
      inbox.expect()
      inbox.append(make(.veryHigh), keepsPlace: false)
      starts.append(inbox.popFirst()!)
    }
    let places = (early + [waiting]).map { one in starts.firstIndex { $0 === one }! }
    #expect(places == places.sorted() && places[3] < 4 * (PriorityInbox.patience + 1))
  }

  @Test func removesThoseThatHaveEnded() {
    var inbox = PriorityInbox()
    let all = (0..<6).map { make($0.isMultiple(of: 2) ? .low : .high) }
    for dispatch in all {
      inbox.expect()
      inbox.append(dispatch, keepsPlace: false)
    }
    for dispatch in all[..<3] { dispatch.fail(with: .timedOut(dispatch.callSite, after: .zero)) }
    let (removed, rest) = inbox.removeEnded()
    #expect(removed.count == 3 && rest == 3)
    #expect(areSame(inbox.inPlaceOrder, Array(all[3...])))
  }
}

/// The same promise without lines: each time a search among all that wait.
private struct PlainInbox {
  struct Entry {
    let dispatch: Dispatch
    let level: PriorityInbox.Level
    let keepsPlace: Bool

    init(_ dispatch: Dispatch, _ level: PriorityInbox.Level, keepsPlace: Bool) {
      (self.dispatch, self.level, self.keepsPlace) = (dispatch, level, keepsPlace)
    }
  }

  var waiting: [Entry] = []
  private var passes: [PriorityInbox.Level: Int] = [:]

  var next: Entry? {
    var copy = self
    return copy.takeNext()
  }

  mutating func popFirst() -> Dispatch? { takeNext()?.dispatch }

  private mutating func takeNext() -> Entry? {
    let levels = PriorityInbox.Level.allCases.filter { level in
      waiting.contains { $0.level == level }
    }
    guard let highest = levels.first else { return nil }
    let chosen = levels.last { passes[$0, default: 0] >= 16 } ?? highest
    for level in PriorityInbox.Level.allCases {
      let isPassedOver = levels.contains(level) && level.rawValue > chosen.rawValue
      let isKept = levels.contains(level) && level.rawValue < chosen.rawValue
      passes[level] = isPassedOver ? passes[level, default: 0] + 1 : isKept ? passes[level] : 0
    }
    let index = waiting.firstIndex { $0.level == chosen }!
    return waiting.remove(at: waiting[index].keepsPlace ? 0 : index)
  }
}
