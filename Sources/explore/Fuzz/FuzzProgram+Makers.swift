extension FuzzProgram {
  /// By dispatch: the one whose block makes it, and with which it is cancelled.
  var makers: [Int: Int] {
    var makers: [Int: Int] = [:]
    for action in actions {
      for body in action.answers.values.map(\.body) + [dispatches[action.dispatch].effect] {
        for number in made(by: body, inTasks: true) { makers[number] = action.dispatch }
      }
    }
    return makers
  }

  typealias Child = (number: Int, isOfAsyncBlock: Bool)

  /// By dispatch: those that its blocks make, and that are cancelled with it.
  var children: [Int: [Child]] {
    var children: [Int: [Child]] = [:]
    for action in actions {
      for (store, answer) in action.answers where !stores[store].runsRegardless {
        let isAsync = if case .async = answer.kind { true } else { false }
        children[action.dispatch, default: []] += made(by: answer.body)
          .filter { !dispatches[$0].isDetached }.map { ($0, isAsync) }
      }
    }
    return children
  }

  /// The dispatches that unstructured tasks make, which may count as blocks in whose tasks they were started.
  var madeInTasks: Set<Int> {
    var numbers: [Int] = []
    for case .task(let body, _) in bodies.joined() { numbers += made(by: body, inTasks: true) }
    return Set(numbers)
  }

  /// The dispatches that no dispatch makes.
  var madeOutside: [Int] { roots.flatMap { made(by: $0.body, inTasks: true) } }

  /// The dispatches, and the steps of groups, that code makes by itself and in child tasks.
  func made(by body: Body, inTasks: Bool = false) -> [Int] {
    bodies[body].flatMap { statement -> [Int] in
      switch statement {
      case .dispatch(let number), .send(let number): [number]
      case .group(let place): groups[place].steps
      case .commit(_, let body?), .commitOwn(let body?), .suspended(_, let body):
        made(by: body, inTasks: inTasks)
      case .task(let body, _) where inTasks: made(by: body, inTasks: inTasks)
      case .children(let bodies): bodies.flatMap { made(by: $0, inTasks: inTasks) }
      default: []
      }
    }
  }
}
