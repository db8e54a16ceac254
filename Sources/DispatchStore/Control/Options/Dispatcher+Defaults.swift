public import Foundation

extension Dispatcher {
  /// Makes a dispatcher.
  ///
  ///     let bank = Dispatcher(name: "bank", defaults: [.timeout(.seconds(5)), .retry(attempts: 2)])
  ///
  /// The defaults are `timeout`, `retry` and `limited(by:)`. They apply to each dispatch that says nothing else:
  ///
  /// - Its own `timeout` or `deadline` replaces the default one, and `.timeout(nil)` takes it away. An inherited deadline
  ///   that is sooner counts.
  /// - Its own `retry` replaces the default one.
  /// - Any limits of its own replace the default ones, which `.sync` does not have.
  /// - A `delayed` or `scheduled` dispatch has no default time limit and no default limits. Nor have runs of `every` a
  ///   default limit.
  ///
  /// They apply once per dispatch. To a sequence or a group they apply as a whole, and not to its steps or compensations.
  /// They don't apply to a long-lived effect, only to what it dispatches.
  ///
  /// - Parameters:
  ///   - name: The dispatcher's name in messages.
  ///   - defaults: The options of dispatches that name no others.
  ///   - limits: The bounds of its lanes and its queue, whatever the options say. With bounds, each dispatch but those
  ///     in `.sync` has a record.
  ///   - queue: The concurrent queue, for `async` and `serial`. By default a new one, whose width is the number of
  ///     active processors. Several dispatchers may share a queue, with each other and with the program's own
  ///     operations. Together they run as many at once as the queue is wide. A dispatch for which a thread waits may
  ///     run beside the queue. So take `.mainThread` for state of the main actor, and not `OperationQueue.main`.
  ///   - clock: The clock for durations and time limits; a test may pass a `VirtualClock`.
  ///   - taskLocals: The task-local values to bind where an action runs.
  /// - Precondition: `defaults` has no other options.
  public convenience init(
    name: String = "dispatcher", defaults: DispatchOptions = DispatchOptions(),
    limits: DispatchLimits? = nil, queue: OperationQueue? = nil,
    clock: (any Clock<Duration>)? = nil, carrying taskLocals: [CarriedTaskLocal] = []
  ) {
    self.init(
      name: name, queue: queue, clock: clock, carrying: taskLocals, in: nil,
      by: DispatcherControl(of: name, defaults, limits))
  }

  /// Returns the options of a group, with the dispatcher's defaults for those that it does not set itself.
  func withDefaults(_ options: DispatchOptions) -> DispatchOptions {
    var options = options.withoutPacing
    guard let defaultAdmission else { return options }
    let deadlines = (options.control as? ControlOptions)?.values.deadlines ?? []
    if options.timeLimit == .max, deadlines.isEmpty {
      options.timeLimit = defaultAdmission.timeLimit
    }
    options.control = defaultAdmission.admission(in: nil, with: options.control)
    return options
  }

  /// Returns the options of a step of a group, to which the dispatcher's defaults do not apply.
  func withoutDefaults(_ options: DispatchOptions) -> DispatchOptions {
    if defaultAdmission == nil { return options }
    var options = options.controlled { $0.takesDefaults = false }
    if options.timeLimit == .max { options.timeLimit = DispatchOptions.unlimited }
    return options
  }
}
