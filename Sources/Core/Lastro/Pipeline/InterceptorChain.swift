// SPDX-License-Identifier: Apache-2.0

/// A list of interceptors in the order in which they are called, with the hooks of each.
struct InterceptorChain: Sendable {
  let all: [any HTTPResourceInterceptor]
  /// The hooks of the interceptor at the same index. They are stored separately, so that a chain can be created and
  /// searched without copying interceptors in every call.
  private let known: [KnownHooks]

  init(_ interceptors: [any HTTPResourceInterceptor]) {
    // Hooks are known by type, so the chain has the interceptor behind each ``StandardInterceptor``.
    let isWrapped = interceptors.contains { $0 is StandardInterceptor }
    let all = isWrapped ? interceptors.map { Self.unwrapped($0) } : interceptors
    self.init(all, all.map { KnownHooks.of(type(of: $0)) })
  }

  private static func unwrapped(_ interceptor: any HTTPResourceInterceptor) -> any HTTPResourceInterceptor {
    guard let standard = interceptor as? StandardInterceptor else { return interceptor }
    return standard.base
  }

  private init(_ all: [any HTTPResourceInterceptor], _ known: [KnownHooks]) {
    self.all = all
    self.known = known
  }

  /// Returns the chain with other interceptors added at its end.
  func followed(by others: Self) -> Self {
    if others.all.isEmpty { return self }
    return all.isEmpty ? others : Self(all + others.all, known + others.known)
  }

  /// Whether an interceptor sends requests through the stack.
  var usesStack: Bool { known.contains(where: \.usesStack) }

  /// The hooks that any interceptor has, and those of them that may wait.
  var hooks: (present: HookSet, waiting: HookSet) {
    var present: HookSet = []
    var waiting: HookSet = []
    for (index, known) in known.enumerated() {
      let hooks = known.present
      present.formUnion(hooks)
      if !hooks.isEmpty, all[index].hooksWait { waiting.formUnion(hooks) }
    }
    return (present, waiting)
  }

  /// Returns whether the interceptor at an index has a hook.
  func has(_ hook: HookSet, at index: Int) -> Bool { known[index].present.contains(hook) }
}
