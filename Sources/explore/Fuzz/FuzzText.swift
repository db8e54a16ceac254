/// A program as text that says what it does, each dispatch with all that its code does.
struct FuzzText {
  private let program: FuzzProgram
  private(set) var lines: [String] = []

  static func of(_ program: FuzzProgram) -> String {
    var text = FuzzText(program: program)
    text.writeStage()
    for (place, root) in program.roots.enumerated() {
      text.write(root.body, "root \(place), a \(root.isTask ? "task" : "thread"):", 0)
    }
    return text.lines.joined(separator: "\n")
  }

  private init(program: FuzzProgram) {
    self.program = program
  }

  private mutating func write(_ line: String, _ depth: Int) {
    lines.append(String(repeating: "  ", count: depth) + line)
  }

  private mutating func writeStage() {
    write("Program \(program.seed)\(program.isTame ? ", in which no ring can close" : "")", 0)
    for (place, plan) in program.dispatchers.enumerated() {
      let queue =
        switch plan.queue {
        case .own(let width): "its own queue, \(width) wide"
        case .users(let width): "the program's queue, \(width) wide"
        case .shared(let other): "the queue of d\(other)"
        }
      write("d\(place): \(queue); \(program.middlewareCounts[place]) middlewares", 0)
      if let effect = program.effects[place] {
        write("an effect, \(effect.policy)\(effect.runsRegardless ? ", regardless" : "")", 1)
      }
    }
    for (place, plan) in program.stores.enumerated() {
      var line = "s\(place) in d\(plan.dispatcher) \(plan.kind)"
      if !plan.waitFor.isEmpty { line += ", waits for \(list(plan.waitFor, "s"))" }
      if plan.runsRegardless { line += ", runs regardless" }
      if plan.isWeak { line += ", is held weakly" }
      write(line, 0)
    }
    for (place, plan) in program.limits.enumerated() {
      write("limit \(place) of \(plan.bound), \(plan.overflow)", 0)
    }
    for (place, overflow) in program.rates.enumerated() { write("rate \(place), \(overflow)", 0) }
    for (place, plan) in program.observers.enumerated() {
      let serial = program.serialPlace(of: place).map { ", on \($0)" } ?? ""
      write("o\(place) observes s\(plan.store): \(plan.kind)\(serial)", 0)
      for (call, body) in plan.calls.sorted(by: { $0.key < $1.key }) {
        write(body, "at call \(call):", 1)
      }
    }
  }

  private func list(_ places: [Int], _ prefix: String) -> String {
    places.map { "\(prefix)\($0)" }.joined(separator: ", ")
  }

  /// Nothing for a list that does nothing.
  private mutating func write(_ body: FuzzProgram.Body?, _ title: String, _ depth: Int) {
    guard let body, !program.bodies[body].isEmpty else { return }
    write(title, depth)
    for statement in program.bodies[body] { write(statement, depth + 1) }
  }

  private mutating func write(_ statement: FuzzProgram.Statement, _ depth: Int) {
    switch statement {
    case .dispatch(let number): write(dispatch: number, depth)
    case .send(let number): write(dispatch: number, depth)
    case .group(let place): write(group: place, depth)
    case .await(let number): write("await #\(number)", depth)
    case .cancel(let number): write("cancel #\(number)", depth)
    case .cancelNamed(let dispatcher, let name):
      write("cancel those of d\(dispatcher) with the name \(name)", depth)
    case .commit(let store, let section):
      write("commit to s\(store)", depth)
      write(section, "in the section:", depth + 1)
    case .commitOwn(let section):
      write("commit to its own store", depth)
      write(section, "in the section:", depth + 1)
    case .task(let body, let isCancelled):
      write(
        body, isCancelled ? "task that is cancelled at some time:" : "unstructured task:", depth)
    case .children(let bodies):
      for body in bodies { write(body, "child task:", depth) }
    case .yield, .fail, .passTime, .awaitGroup, .cancelGroup, .close, .shutDown, .drain,
      .awaitDrain,
      .follow:
      write("\(statement)", depth)
    case .release(let store): write("release s\(store)", depth)
    case .unregister(let store): write("unregister s\(store)", depth)
    case .setWidth(let dispatcher, let width): write("d\(dispatcher) becomes \(width) wide", depth)
    case .suspended(let dispatcher, let body):
      write("suspend d\(dispatcher), and resume it", depth)
      write(body, "meanwhile:", depth + 1)
    case .cancelObserver(let observer): write("cancel o\(observer)", depth)
    case .usersOperation(let dispatcher, let body):
      write(body, "an operation of the program's own on the queue of d\(dispatcher):", depth)
    }
  }

  private mutating func write(group place: Int, _ depth: Int) {
    let plan = program.groups[place]
    var line = "group \(place) in d\(plan.dispatcher)"
    line += plan.limit.map { ", \($0) at once" } ?? ", a sequence"
    if plan.continues { line += ", that continues on failure" }
    if plan.isSent { line += ", sent" }
    if plan.isCancelled { line += ", cancelled at once" }
    line += plan.controls.map { ", \($0)" }.joined()
    write(line, depth)
    for step in plan.steps {
      write(dispatch: step, depth + 1)
      guard let undo = plan.undos[step] else { continue }
      write("undone by:", depth + 2)
      write(dispatch: undo, depth + 3)
    }
    write(plan.completion, "completion:", depth + 1)
  }

  private mutating func write(dispatch number: Int, _ depth: Int) {
    let plan = program.dispatches[number]
    var line = "#\(number) \(plan.mode) in d\(plan.dispatcher)"
    if let target = plan.target { line += ", to s\(target) alone" }
    if !plan.after.isEmpty { line += ", after \(list(plan.after, "#"))" }
    if plan.isSent { line += ", sent" }
    if !plan.controls.isEmpty { line += plan.controls.map { ", \($0)" }.joined() }
    if plan.isSequence {
      line += ", a sequence of \(plan.actions.count)"
      if plan.continuesOnFailure { line += " that continues on failure" }
    }
    write(line, depth)
    for action in plan.actions { write(action: action, depth + 1) }
    write(plan.effect, "effect:", depth + 1)
    switch plan.completion {
    case .none: break
    case .plain(let body): write(body, "completion:", depth + 1)
    case .result(let body): write(body, "completion with the result:", depth + 1)
    }
  }

  private mutating func write(action: Int, _ depth: Int) {
    for (store, answer) in program.actions[action].answers.sorted(by: { $0.key < $1.key }) {
      for middleware in 0..<2 {
        let place = FuzzProgram.HookPlace(middleware: middleware, action: action, store: store)
        guard let hook = program.hooks[place] else { continue }
        write(
          "m\(middleware), s\(store): \(hook.verdict)\(hook.didFails ? ", didDispatch throws" : "")",
          depth)
        write(hook.will, "willDispatch:", depth + 1)
        write(hook.did, "didDispatch:", depth + 1)
      }
      write("action \(action), s\(store): \(text(answer))", depth)
      for statement in program.bodies[answer.body] { write(statement, depth + 1) }
      if case .callback(_, _, let next) = answer.kind {
        write(next, "then, on a thread:", depth + 1)
      }
    }
  }

  private func text(_ answer: FuzzProgram.Answer) -> String {
    var text: String
    switch answer.kind {
    case .reduction: text = "reduction"
    case .noChange: text = "reduction without a change"
    case .application: text = "application"
    case .block: text = "block"
    case .async: text = "async block"
    case .callback(let commits, let end, _): text = "callback, \(commits) commits, \(end)"
    }
    if answer.dependsOnForeign { text += ", depends on an operation of the program's own" }
    if !answer.dependsOn.isEmpty {
      text += ", depends on that of action \(list(answer.dependsOn, ""))"
    }
    return text
  }
}
