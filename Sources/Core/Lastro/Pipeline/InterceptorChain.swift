// SPDX-License-Identifier: Apache-2.0

/// A list of interceptors in the order in which they are called, with the hooks of each.
struct InterceptorChain: Sendable {
  let all: [any HTTPResourceInterceptor]
  /// The hooks of the interceptor at the same index. They are stored separately, so that a chain can be created and
  /// searched without copying interceptors in every call.
  private let known: [KnownHooks]

  init(_ interceptors: [any HTTPResourceInterceptor]) {
    self.init(interceptors, interceptors.indices.map { KnownHooks.of(type(of: interceptors[$0])) })
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

  /// Returns the interceptors that have a hook, in order.
  func having(_ hook: HookSet) -> some Sequence<any HTTPResourceInterceptor> { WithHook(chain: self, hook: hook) }
}

private struct WithHook: Sequence, IteratorProtocol {
  let chain: InterceptorChain
  let hook: HookSet
  private var index = 0

  init(chain: InterceptorChain, hook: HookSet) {
    self.chain = chain
    self.hook = hook
  }

  mutating func next() -> (any HTTPResourceInterceptor)? {
    while index < chain.all.count {
      defer { index += 1 }
      if chain.has(hook, at: index) { return chain.all[index] }
    }
    return nil
  }
}
