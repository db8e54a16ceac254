extension DispatchOptions {
  /// Runs the action once for all dispatches that are made with the same idempotency key.
  ///
  ///     let receipt = try await shop.send(
  ///       Pay(order: 5), options: .idempotencyKey(request.idempotencyKey)
  ///     ).reply
  ///
  /// A repeat while the first one is in flight joins it: it runs nothing, and ends with the same result. A repeat after
  /// that gets the recorded result at once, with its replies. Neither needs a place in a lane or a unit of a limit. If
  /// the action has another type, or another value of an `Equatable` type, the repeat ends with the code
  /// `idempotencyKeyReused`.
  ///
  /// If the action changes stores that are persistent, the key is saved in the transaction of their commit. So a client
  /// may repeat a request after a crash. For that, an action that only reduces is atomic. For other actions the key is
  /// saved at their end: if the process dies before, a repeat runs the action again. The same holds for a sequence, also
  /// of one action: give the key to one action that makes all of the changes.
  ///
  /// A dispatch to which no store responds, and that no effect follows, has run nothing: its key is forgotten at the end.
  ///
  /// Without persistence, the dispatcher remembers the key in memory. `Dispatcher.idempotencyKeys` bounds their number.
  ///
  /// - Parameters:
  ///   - key: The key, mostly from the client. Keys are compared by their texts.
  ///   - period: The time for which the result is remembered, from the end on. Zero forgets it at once.
  ///   - failures: Whether an error that a store has thrown is remembered, too. Otherwise the next repeat runs the
  ///     action again. Cancellations and errors of the library are never remembered.
  public static func idempotencyKey(
    _ key: some PersistentKey, remembered period: Duration = .seconds(24 * 3_600),
    failures: Bool = false
  ) -> DispatchOptions {
    let key = IdempotencyKey(
      text: key.persistentText, period: period.wholeNanoseconds, remembersFailures: failures)
    return DispatchOptions().controlled { $0.key = key }
  }
}

/// An idempotency key, with what is remembered of its dispatch.
struct IdempotencyKey: Codable, Sendable {
  let text: String
  /// In nanoseconds.
  let period: Int64
  let remembersFailures: Bool
}

extension DispatchError {
  static func keyReused(_ key: String, _ action: String, _ first: String) -> DispatchError {
    let action = action == first ? "another value of it" : action
    return DispatchError(
      code: .idempotencyKeyReused,
      message: """
        The idempotency key "\(key)" was used for \(first), and comes with \(action) now. Nothing was run. Use \
        a new key for each request.
        """)
  }

  /// A missing header that was read as an empty text would be a key that all clients share.
  static var emptyKey: DispatchError {
    DispatchError(
      code: .invalidIdempotencyKey,
      message:
        "The idempotency key is empty, so that all who send none would share it. Nothing was run.")
  }

  static func keyNotSaved(
    _ key: String, _ reason: String, _ code: Code = .invalidIdempotencyKey
  ) -> DispatchError {
    DispatchError(
      code: code,
      message:
        "The idempotency key \"\(key.prefix(80))\" can't be saved: \(reason) Nothing was run.")
  }

  static func replyNotDecodable(
    _ key: String, _ storeIdentifier: String, _ reason: String, cause: (any Error)?
  ) -> DispatchError {
    DispatchError(
      code: .replyNotDecodable,
      message: """
        The action with the idempotency key "\(key)" has succeeded before, but the recorded reply of store \
        "\(storeIdentifier)" can't be decoded: \(reason) Nothing was run, and the record was kept.
        """, storeIdentifiers: [storeIdentifier], cause: cause)
  }

  static func failedBefore(_ key: String, _ text: String) -> DispatchError {
    DispatchError(
      code: .failedBefore,
      message: "The action with the idempotency key \"\(key)\" failed before: \(text)")
  }
}
