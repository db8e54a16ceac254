import DispatchStore
import DispatchStoreTesting

/// Draws a program from a seed.
struct FuzzDraw {
  var program: FuzzProgram
  private var generator: SeededGenerator
  /// How many dispatches may still be drawn.
  var budget = 0

  static func program(seed: UInt64) -> FuzzProgram {
    var draw = FuzzDraw(seed)
    draw.drawStage()
    for _ in 0..<draw.below(3) + 1 {
      let isTask = draw.chance(2, in: 3)
      let body = draw.body(.root(isTask: isTask))
      draw.program.roots.append(.init(isTask: isTask, body: body))
    }
    return draw.program
  }

  private init(_ seed: UInt64) {
    program = FuzzProgram(seed: seed)
    generator = SeededGenerator(seed: seed)
    // The first numbers of neighbouring seeds are not to look alike in what is drawn first.
    _ = generator.next()
    budget = [3, 6, 10, 16, 40][below(5)]
    program.isTame = chance(1, in: 2)
    program.isControlled = chance(1, in: 2)
    program.hasGroups = chance(1, in: 3)
  }

  mutating func below(_ count: Int) -> Int {
    Int.random(in: 0..<count, using: &generator)
  }

  mutating func chance(_ part: Int, in whole: Int) -> Bool {
    below(whole) < part
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[below(elements.count)]
  }

  // MARK: Dispatchers, stores, observers

  private mutating func drawStage() {
    for index in 0..<(chance(1, in: 3) ? 2 : 1) {
      let queue: FuzzProgram.DispatcherPlan.Queue =
        switch below(index == 0 ? 3 : 5) {
        case 0, 1: .own(width: below(3) + 1)
        case 2: .users(width: below(2) + 1)
        default: .shared(with: 0)
        }
      program.dispatchers.append(.init(queue: queue))
      program.middlewareCounts.append([0, 0, 1, 2][below(4)])
      // Not one that cancels its earlier runs, and what these dispatch.
      let effect = FuzzProgram.EffectPlan(
        policy: pick([.concurrent, .serial, .unlessRunning]), runsRegardless: chance(1, in: 2))
      program.effects.append(chance(1, in: 4) ? effect : nil)
    }
    for _ in 0..<below(4) + 1 { drawStore() }
    if program.isControlled { drawLimits() }
    // Drawn before the dispatches, so that those in observers are made early.
    for _ in 0..<[0, 0, 1, 1, 2, 3][below(6)] { drawObserver() }
  }

  private mutating func drawStore() {
    var store = FuzzProgram.StorePlan(
      dispatcher: below(program.dispatchers.count), kind: pick(FuzzProgram.StorePlan.Kind.allCases))
    let earlier = program.stores.indices.filter {
      program.stores[$0].dispatcher == store.dispatcher
    }
    store.waitFor = earlier.filter { _ in chance(1, in: 3) }
    store.runsRegardless = !store.waitFor.isEmpty && chance(1, in: 3)
    store.isWeak = chance(1, in: 8)
    program.stores.append(store)
  }

  private mutating func drawObserver() {
    let place = program.observers.count
    program.observers.append(
      .init(store: below(program.stores.count), kind: pick(FuzzProgram.ObserverPlan.Kind.allCases)))
    for _ in 0..<[0, 1, 1, 2][below(4)] {
      let call = below(3)
      let body = body(.observer(place))
      program.observers[place].calls[call] = body
    }
  }
}
