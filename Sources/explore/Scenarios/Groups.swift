import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Drawn trees of groups, in both forms, whose steps end in all ways, cancelled at some time.
  static let groups = Scenario(
    name: "groups", summary: "each step of a group runs once, in order, and is undone in reverse"
  ) { dispatcher, simulation in
    let watch = GroupWatch()
    dispatcher.onWarning { warning in
      // Nobody answers some actions, and some compensations fail: both are drawn.
      if [.noResponder, .notCompensated].contains(warning.kind) { return }
      watch.faults.note("\(warning)")
    }
    dispatcher.makeStore("chores", of: Chore.self) { $0.operation(in: $1, watch) }
    dispatcher.register(
      middleware: WillHook { _, action, _ in
        (action as? Chore)?.way == .vetoed ? .veto(reason: "drawn") : .pass
      })
    let runs = (0..<2).map { GroupProgram(number: $0, simulation.draw(below:)) }
    await concurrently(runs) { await $0.run(by: dispatcher, watch) }
    for run in runs { watch.check(run) }
    try check(watch.faults.now.isEmpty, "\(watch.faults.now)\n\(runs)")
  }
}

/// A group, as it was drawn; its steps have numbers in the order in which they are written.
private indirect enum ChoreTree: Sendable, CustomStringConvertible {
  case step(Chore, Dispatcher.SendMode, undo: Chore.Way?)
  case group(limit: Int?, continues: Bool, [ChoreTree])

  var description: String {
    switch self {
    case .step(let chore, let mode, let undo):
      "\(chore.number) \(chore.way) \(mode)" + (undo.map { " undone by \($0)" } ?? "")
    case .group(let limit, let continues, let elements):
      (limit.map { "\($0) of " } ?? "") + (continues ? "all " : "") + "\(elements)"
    }
  }

  var group: ActionGroup {
    guard case .group(let limit, let continues, let elements) = self else { return ActionGroup {} }
    let group = ActionGroup(limit.map(ActionGroup.Order.concurrent) ?? .sequence) {
      for element in elements {
        if case .step(let chore, let mode, let undo) = element {
          Self.step(chore, mode, undo)
        } else {
          element.group
        }
      }
    }
    return continues ? group.continuingOnFailure() : group
  }

  private static func step(
    _ chore: Chore, _ mode: Dispatcher.SendMode, _ undo: Chore.Way?
  ) -> ActionStep {
    let step =
      chore.number.isMultiple(of: 3)
      ? ActionStep(mode: mode) { _ in chore } : ActionStep(chore, mode: mode)
    guard let undo else { return step }
    return step.compensated(by: Chore(number: chore.number, way: undo, isUndo: true))
  }

  /// The steps in it.
  var steps: [Chore] {
    switch self {
    case .step(let chore, _, _): [chore]
    case .group(_, _, let elements): elements.flatMap(\.steps)
    }
  }

  var undoable: [Int] {
    switch self {
    case .step(let chore, _, let undo): undo == nil ? [] : [chore.number]
    case .group(_, _, let elements): elements.flatMap(\.undoable)
    }
  }

  /// All groups in it, with itself.
  var groups: [ChoreTree] {
    guard case .group(_, _, let elements) = self else { return [] }
    return [self] + elements.flatMap(\.groups)
  }
}

/// A group that a scenario runs.
private struct GroupProgram: Sendable, CustomStringConvertible {
  let number: Int
  let isSent: Bool
  let isCancelled: Bool
  let tree: ChoreTree
  private let result = Shared<ActionGroupResult?>(nil)

  init(number: Int, _ draw: (Int) -> Int) {
    self.number = number
    isSent = draw(2) == 0
    isCancelled = draw(2) == 0
    var next = number * 100
    tree = Self.draw(draw, &next, depth: 0, number * 100 + 8, isSent)
  }

  private static func draw(
    _ draw: (Int) -> Int, _ next: inout Int, depth: Int, _ end: Int, _ isSent: Bool
  ) -> ChoreTree {
    if depth > 0, depth == 3 || draw(3) > 0 {
      next += 1
      var modes: [Dispatcher.SendMode] = [
        .async, .async, .serial, .serial(lane: "a"), .serial(lane: "b"),
      ]
      // A group that is sent leaves for the main actor in this mode, and the main actor is of no world.
      if !isSent { modes.append(.mainThread) }
      let (way, mode) = (
        Chore.Way.drawn[draw(Chore.Way.drawn.count)], modes[draw(modes.count)]
      )
      let undo: Chore.Way? = draw(4) == 0 ? nil : [.note, .work, .slow, .fail][draw(4)]
      return .step(Chore(number: next, way: way), mode, undo: undo)
    }
    let limit = [nil, 1, 2, .max][draw(4)]
    var elements: [ChoreTree] = []
    for _ in 0..<2 + draw(3) where next < end {
      elements.append(Self.draw(draw, &next, depth: depth + 1, end, isSent))
    }
    return .group(limit: limit, continues: depth > 0 && draw(3) == 0, elements)
  }

  func run(by dispatcher: Dispatcher, _ watch: GroupWatch) async {
    let reports = Shared([Int]())
    let report: @Sendable (Int, Int) -> Void = { count, _ in reports.append(count) }
    let group = tree.group
    let ended: ActionGroupResult
    if isSent {
      ended = await withTaskGroup(of: ActionGroupResult.self) { tasks in
        tasks.addTask { await dispatcher.send(group, onProgress: report) }
        if isCancelled {
          try? await dispatcher.simulation?.delay(upTo: .milliseconds(1))
          tasks.cancelAll()
        }
        return await tasks.next()!
      }
    } else {
      let completions = Shared(0)
      let handle = dispatcher.dispatch(
        group, then: { _ in completions.with { $0 += 1 } }, onProgress: report)
      if isCancelled { dispatcher.simulation?.startThread { handle.cancel() } }
      ended = await handle.result
      if completions.now != 1 { watch.faults.note("\(number) completed \(completions.now) times") }
    }
    if reports.now != Array(0..<reports.now.count).map({ $0 + 1 }) {
      watch.faults.note("\(number) has reported \(reports.now)")
    }
    let steps = ended.steps.filter { !$0.outcome.isSkipped }
    if reports.now.count != steps.count {
      watch.faults.note("\(number) has reported \(reports.now.count) of \(steps.count) steps")
    }
    result.with { $0 = ended }
  }

  var ended: ActionGroupResult { result.now! }

  var description: String {
    "\(isSent ? "sent" : "dispatched")\(isCancelled ? ", cancelled" : ""): \(tree)"
  }
}

/// The work of a step of a group, or of the compensation of one.
private struct Chore: ActionType {
  enum Way {
    case note, work, slow, fail, giveUp, vetoed, hold
    static let drawn: [Way] = [.note, .note, .work, .slow, .slow, .fail, .giveUp, .vetoed, .hold]
  }

  let number: Int
  let way: Way
  var isUndo = false

  func operation(
    in store: Store<Journal, Chore>, _ watch: GroupWatch
  ) -> ActionOperation<Journal, Chore> {
    switch way {
    case .note, .vetoed, .fail, .giveUp:
      ActionOperation(action: self, store: store) { action, _ in
        watch.begin(action)
        watch.end(action)
        if action.way == .fail { throw Refused() }
        if action.way == .giveUp { throw CancellationError() }
      }
    case .work, .slow:
      entering(number, for: self, in: store, isAsync: way == .slow) {
        $0 > 0 ? watch.begin(self) : watch.end(self)
      }
    case .hold:
      ActionOperation(action: self, store: store) { action, store async throws in
        watch.begin(action)
        defer { watch.end(action) }
        // Longer than anything else; a group that is cancelled is so before.
        try await store.dispatcher?.simulation?.clock.sleep(for: .seconds(10))
      }
    }
  }
}

/// The events of the steps, in order.
private final class GroupWatch: Sendable {
  enum Event: Hashable {
    case began(Int)
    case ended(Int)
    case undid(Int)
  }

  let faults = Shared([String]())
  private let events = Shared([Event]())

  func begin(_ chore: Chore) {
    events.append(chore.isUndo ? .undid(chore.number) : .began(chore.number))
  }

  func end(_ chore: Chore) {
    if !chore.isUndo { events.append(.ended(chore.number)) }
  }

  func check(_ program: GroupProgram) {
    let check = GroupCheck(program, events.now)
    for fault in check.faults { faults.note("group \(program.number): \(fault)") }
  }
}

/// Compares what has happened with a tree and its result.
private struct GroupCheck {
  private let tree: ChoreTree
  private let outcomes: [Int: ActionStepResult]
  private let places: [GroupWatch.Event: [Int]]
  private(set) var faults: [String] = []

  init(_ program: GroupProgram, _ events: [GroupWatch.Event]) {
    tree = program.tree
    let steps = zip(tree.steps.map(\.number), program.ended.steps)
    outcomes = Dictionary(uniqueKeysWithValues: Array(steps))
    places = Dictionary(grouping: events.indices) { events[$0] }
    for (number, result) in outcomes.sorted(by: { $0.key < $1.key }) { checkRuns(number, result) }
    for group in tree.groups { checkOrder(group) }
    checkCompensations(program)
    for chore in tree.steps where chore.way == .hold && program.isCancelled {
      if hasFinished(chore.number) { faults.append("\(chore.number) was not cancelled") }
    }
    let isSuccess = outcomes.values.allSatisfy(\.outcome.isFinished)
    if program.ended.isSuccess != isSuccess { faults.append("the result is \(program.ended)") }
  }

  private func count(_ event: GroupWatch.Event) -> Int { places[event]?.count ?? 0 }

  private func hasFinished(_ number: Int) -> Bool { outcomes[number]?.outcome.isFinished == true }

  private mutating func checkRuns(_ number: Int, _ result: ActionStepResult) {
    let (begun, undone) = (count(.began(number)), count(.undid(number)))
    if begun > 1 { faults.append("\(number) ran \(begun) times") }
    if undone > 1 { faults.append("\(number) was undone \(undone) times") }
    if result.outcome.isFinished, begun != 1 { faults.append("\(number) finished without a run") }
    if result.outcome.isSkipped, begun != 0 { faults.append("\(number) ran, and is skipped") }
    if (result.compensation != nil) != (undone == 1) {
      faults.append("\(number) was undone \(undone) times: \(result)")
    }
  }

  private mutating func checkOrder(_ group: ChoreTree) {
    guard case .group(let limit, let continues, let elements) = group else { return }
    let spans = elements.map { element -> ClosedRange<Int>? in
      let begun = element.steps.compactMap { places[.began($0.number)]?.first }
      let ended = element.steps.compactMap { places[.ended($0.number)]?.last }
      guard let first = begun.min(), let last = ended.max() else { return nil }
      return first...max(first, last)
    }
    if let limit {
      for span in spans.compactMap({ $0 }) {
        let others = spans.compactMap { $0 }.filter { $0.contains(span.lowerBound) }
        if others.count > limit { faults.append("\(others.count) run at once in \(group)") }
      }
      return
    }
    for (index, element) in elements.enumerated() {
      guard let span = spans[index] else { continue }
      for (former, before) in zip(elements, spans).prefix(index) {
        if let before, before.upperBound > span.lowerBound {
          faults.append("\(element) began before \(former) had ended")
        }
        if !continues, !former.steps.allSatisfy({ hasFinished($0.number) }) {
          faults.append("\(element) ran after \(former), which did not finish")
        }
        checkReverse(former, element)
      }
    }
  }

  /// Checks that a later element of a sequence is undone before a former one, or was not begun yet.
  private mutating func checkReverse(_ former: ChoreTree, _ later: ChoreTree) {
    for first in former.undoable {
      for second in later.undoable {
        guard let undone = places[.undid(first)]?.first,
          let undoneLater = places[.undid(second)]?.first,
          let begun = places[.began(second)]?.first
        else { continue }
        if undone < undoneLater, undone > begun {
          faults.append("\(first) was undone before \(second)")
        }
      }
    }
  }

  private mutating func checkCompensations(_ program: GroupProgram) {
    var expected: Set<Int> = []
    for group in tree.groups {
      guard case .group(_, let continues, _) = group, !continues else { continue }
      if group.steps.allSatisfy({ hasFinished($0.number) }) { continue }
      expected.formUnion(group.undoable.filter(hasFinished))
    }
    let undone = Set(tree.undoable.filter { count(.undid($0)) > 0 })
    if undone != expected {
      faults.append("\(undone.sorted()) were undone, not \(expected.sorted())")
    }
  }
}
