// SPDX-License-Identifier: Apache-2.0

/// Interceptors in the order in which they are asked, with the hooks that each has.
struct InterceptorChain: Sendable {
  let all: [any HTTPResourceInterceptor]
  /// The hooks of each, at its index. Apart from them, so that a chain is made, and looked through, without a copy of
  /// an interceptor, which every call would pay for.
  private let known: [KnownHooks]

  init(_ interceptors: [any HTTPResourceInterceptor]) {
    self.init(interceptors, interceptors.indices.map { KnownHooks.of(type(of: interceptors[$0])) })
  }

  private init(_ all: [any HTTPResourceInterceptor], _ known: [KnownHooks]) {
    self.all = all
    self.known = known
  }

  /// Returns the chain with others behind these.
  func followed(by others: Self) -> Self {
    if others.all.isEmpty { return self }
    return all.isEmpty ? others : Self(all + others.all, known + others.known)
  }

  /// Whether one of them asks through the stack.
  var usesStack: Bool { known.contains(where: \.usesStack) }

  /// The hooks that some interceptor has, and those of them that may wait.
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

  /// Whether an interceptor has a hook.
  func has(_ hook: HookSet, at index: Int) -> Bool { known[index].present.contains(hook) }

  /// Returns the interceptors that have a hook, in their order.
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
