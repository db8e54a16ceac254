/// Takes so many actions through something, one way or another; returns when all have ended.
public typealias Workload = @Sendable (_ count: Int) -> Void
