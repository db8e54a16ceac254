public import DispatchStore
import Synchronization

/// The options with which a service sends an action.
public enum Controls {
  private static let limit = DispatchLimit(1_000)

  /// A time limit, a name, a limit and a retry policy; none of them is needed.
  public static let all: @Sendable (_ index: Int) -> DispatchOptions = { index in
    [timeout(index), .named(index), .limited(by: limit), .retry(attempts: 3)]
  }

  /// A limit and a retry policy.
  public static let limitAndRetry: @Sendable (_ index: Int) -> DispatchOptions = { _ in
    [.limited(by: limit), .retry(attempts: 3)]
  }

  /// A time limit that does not pass.
  public static let timeout: @Sendable (_ index: Int) -> DispatchOptions = { _ in
    .timeout(.seconds(3_600))
  }

  private static let keyCount = Atomic(0)

  /// An idempotency key that is new, also in a later round.
  public static let newKey: @Sendable (_ index: Int) -> DispatchOptions = { _ in
    .idempotencyKey(keyCount.add(1, ordering: .relaxed).newValue)
  }

  /// An idempotency key that is remembered from the first action on.
  public static let repeatedKey: @Sendable (_ index: Int) -> DispatchOptions = { _ in
    .idempotencyKey("repeated")
  }
}
