// SPDX-License-Identifier: Apache-2.0

/// Interceptors in the order in which they are asked, with the hooks that each has.
struct InterceptorChain: Sendable {
  struct Link: Sendable {
    let interceptor: any HTTPResourceInterceptor
    fileprivate let known: KnownHooks

    init(_ interceptor: any HTTPResourceInterceptor) {
      self.interceptor = interceptor
      known = KnownHooks.of(type(of: interceptor))
    }

    /// The hooks that have to be called.
    var hooks: HookSet { known.present }
  }

  let links: [Link]

  init(_ interceptors: [any HTTPResourceInterceptor]) { links = interceptors.map(Link.init) }

  private init(links: [Link]) { self.links = links }

  /// With others behind these.
  func followed(by interceptors: [any HTTPResourceInterceptor]) -> Self {
    interceptors.isEmpty ? self : Self(links: links + interceptors.map(Link.init))
  }

  /// Whether one of them asks through the stack.
  var usesStack: Bool { links.indices.contains { links[$0].known.usesStack } }

  /// The hooks that some interceptor has, and those of them that may wait.
  var hooks: (present: HookSet, waiting: HookSet) {
    var present: HookSet = []
    var waiting: HookSet = []
    // By index: a link is not copied, which every call would pay for.
    for index in links.indices {
      let hooks = links[index].known.present
      present.formUnion(hooks)
      if !hooks.isEmpty, links[index].interceptor.hooksWait { waiting.formUnion(hooks) }
    }
    return (present, waiting)
  }
}
