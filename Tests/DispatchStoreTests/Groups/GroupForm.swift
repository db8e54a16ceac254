import DispatchStore

/// The two forms in which a group runs.
enum GroupForm: CaseIterable, Sendable {
  /// With a handle, on threads of the library.
  case dispatched
  /// In the caller's task.
  case sent

  func run(
    _ group: ActionGroup, by dispatcher: Dispatcher, options: DispatchOptions = [],
    onProgress: (@Sendable (Int, Int) -> Void)? = nil
  ) async -> ActionGroupResult {
    switch self {
    case .dispatched:
      await onOwnThread {
        dispatcher.dispatch(group, options: options, onProgress: onProgress)
      }.result
    case .sent:
      await dispatcher.send(group, options: options, onProgress: onProgress)
    }
  }

  /// The same from this task also where the group is dispatched.
  func runHere(
    _ group: ActionGroup, by dispatcher: Dispatcher, options: DispatchOptions = []
  ) async -> ActionGroupResult {
    await self == .sent
      ? dispatcher.send(group, options: options)
      : dispatcher.dispatch(group, options: options).result
  }

  /// A form, with a mode that it has.
  struct InMode: Sendable, CustomStringConvertible {
    let form: GroupForm
    let mode: Dispatcher.SendMode

    var description: String { "\(form) in \(mode)" }

    func run(
      _ group: ActionGroup, by dispatcher: Dispatcher, options: DispatchOptions = []
    ) async -> ActionGroupResult {
      await form.run(group, by: dispatcher, options: options)
    }

    /// Both forms, each in every mode.
    static let all =
      GroupForm.allCases.flatMap { form in
        Dispatcher.SendMode.everyMode.map { InMode(form: form, mode: $0) }
      }
  }
}

extension ActionGroupResult {
  /// The steps' outcomes, without their errors.
  var outcomes: String {
    steps.map { step in
      switch step.outcome {
      case .finished: "+"
      case .failed: "-"
      case .cancelled: "x"
      case .skipped: "."
      }
    }.joined()
  }
}
