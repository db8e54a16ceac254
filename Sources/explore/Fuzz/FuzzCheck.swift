import DispatchStore

/// Checks what happened in a run against what the library promises.
///
/// Times are places in the log.
struct FuzzCheck {
  let run: FuzzRun
  let program: FuzzProgram
  /// By dispatch: the one whose block makes it.
  let makers: [Int: Int]
  let children: [Int: [FuzzProgram.Child]]
  let madeInTasks: Set<Int>
  /// By action and store.
  private(set) var parts: [Part.Key: Part] = [:]
  /// By dispatch.
  private(set) var spans: [Int: Span] = [:]
  /// The commits of each store and the calls of each observer, with their times.
  private(set) var commits: [Int: [(version: Int, action: Int, time: Int)]] = [:]
  private(set) var observed: [Int: [(version: Int, time: Int)]] = [:]
  /// The times of further events, by their subjects.
  private(set) var marks: [FuzzEvent.Kind: [Int: [Int]]] = [:]
  private let found = Shared<[String]>([])

  /// The fate of one store's part in an action.
  struct Part {
    struct Key: Hashable {
      var action: Int
      var store: Int
    }

    var began: [Int] = []
    var ended: [Int] = []
    var threw: [Int] = []
    /// By middleware.
    var wills: [Int: [Int]] = [:]
    var dids: [Int: [Int]] = [:]
    var commits: [Int] = []

    var end: Int? { (ended + threw).first }
    var last: Int? { (ended + threw + commits + dids.values.joined()).max() }
  }

  /// The fate of a dispatch.
  struct Span {
    var called: Int?
    var returned: Int?
    var completed: [Int] = []
    var awaited: [Int] = []
    var wasCancelled = false
  }

  init(_ run: FuzzRun) {
    self.run = run
    program = run.program
    makers = program.makers
    children = program.children
    madeInTasks = program.madeInTasks
    for (time, event) in run.log.allEvents.enumerated() { take(event, at: time) }
  }

  /// The broken promises; empty if every one was kept.
  func faults() -> [String] {
    checkParts()
    checkDispatches()
    checkLanes()
    checkResults()
    checkControls()
    checkCancellations()
    checkEnds()
    checkGroups()
    checkEffects()
    checkObservers()
    checkWarnings()
    return found.now
  }

  func check(_ isKept: Bool, _ fault: @autoclosure () -> String) {
    if !isKept { fail(fault()) }
  }

  func fail(_ fault: String) {
    found.note(fault)
  }

  private mutating func take(_ event: FuzzEvent, at time: Int) {
    let key = Part.Key(action: event.subject, store: event.store)
    switch event.kind {
    case .called: spans[event.subject, default: Span()].called = time
    case .returned: spans[event.subject, default: Span()].returned = time
    case .completed: spans[event.subject, default: Span()].completed.append(time)
    case .awaited: spans[event.subject, default: Span()].awaited.append(time)
    case .cancelled: spans[event.subject, default: Span()].wasCancelled = true
    case .will(let middleware):
      parts[key, default: Part()].wills[middleware, default: []].append(time)
    case .did(let middleware):
      parts[key, default: Part()].dids[middleware, default: []].append(time)
    case .began: parts[key, default: Part()].began.append(time)
    case .ended: parts[key, default: Part()].ended.append(time)
    case .threw: parts[key, default: Part()].threw.append(time)
    case .committed:
      commits[event.store, default: []].append((event.version, event.subject, time))
      if event.subject >= 0 { parts[key, default: Part()].commits.append(time) }
    case .observed(let observer):
      observed[observer, default: []].append((event.version, time))
    default: marks[event.kind, default: [:]][event.subject, default: []].append(time)
    }
  }

  func name(_ key: Part.Key) -> String {
    "action \(key.action) of #\(program.actions[key.action].dispatch) in s\(key.store)"
  }

  /// The parts of a dispatch's actions.
  func parts(of dispatch: Int) -> [Part] {
    program.dispatches[dispatch].actions.flatMap { action in
      program.stores.indices.compactMap { parts[Part.Key(action: action, store: $0)] }
    }
  }
}
