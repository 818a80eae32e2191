// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

/// Some of the four hooks of an interceptor.
struct HookSet: OptionSet, Sendable {
  let rawValue: UInt8

  static let makeRequest = HookSet(rawValue: 1 << 0)
  static let scheduled = HookSet(rawValue: 1 << 1)
  static let succeeded = HookSet(rawValue: 1 << 2)
  static let failed = HookSet(rawValue: 1 << 3)
  static let all: HookSet = [.makeRequest, .scheduled, .succeeded, .failed]
}

/// Which hooks a type of interceptor has, as far as that is known.
///
/// Swift does not tell whether a type has an implementation of its own or the protocol's, which does nothing. The
/// protocol's can tell: it runs only for types that have no other, and reports them. Which one a type has never
/// changes. So every hook is called until the protocol's implementation has been seen in its place, and a hook of one's
/// own always is.
final class KnownHooks: Sendable {
  private static let types = Lock<[ObjectIdentifier: KnownHooks]>([:])

  private let lacking = Atomic<UInt8>(0)
  /// Whether it asks through the stack.
  let usesStack: Bool

  private init(_ type: any HTTPResourceInterceptor.Type) { usesStack = type is any StackUser.Type }

  /// What is known of a type: one object for each.
  static func of(_ type: any HTTPResourceInterceptor.Type) -> KnownHooks {
    types.withLock { types in
      let identifier = ObjectIdentifier(type)
      if let known = types[identifier] { return known }
      let known = KnownHooks(type)
      types[identifier] = known
      return known
    }
  }

  /// The hooks that have to be called: those of the type's own, and those of which it is not known yet.
  var present: HookSet { HookSet.all.subtracting(HookSet(rawValue: lacking.load(ordering: .relaxed))) }

  /// Told by the protocol's implementation of a hook.
  func lacks(_ hook: HookSet) { lacking.bitwiseOr(hook.rawValue, ordering: .relaxed) }
}
