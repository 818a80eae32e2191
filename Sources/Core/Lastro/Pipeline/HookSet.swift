// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

/// A set of an interceptor's hooks, of which there are four.
struct HookSet: OptionSet, Sendable {
  let rawValue: UInt8

  static let makeRequest = HookSet(rawValue: 1 << 0)
  static let scheduled = HookSet(rawValue: 1 << 1)
  static let succeeded = HookSet(rawValue: 1 << 2)
  static let failed = HookSet(rawValue: 1 << 3)
  static let all: HookSet = [.makeRequest, .scheduled, .succeeded, .failed]
}

/// The hooks that a type of interceptor implements, as far as is known.
///
/// Swift cannot report whether a type implements a requirement itself or uses the protocol's default, which does
/// nothing. The default can report it: it runs only for types without their own implementation, and notes that the hook
/// is missing. This never changes for a type. Therefore, every hook is called until its default was seen to run, and a
/// hook that the type implements is always called.
final class KnownHooks: Sendable {
  private static let types = Lock<[ObjectIdentifier: KnownHooks]>([:])

  private let lacking = Atomic<UInt8>(0)
  /// Whether the interceptor sends requests through the stack.
  let usesStack: Bool

  private init(_ type: any HTTPResourceInterceptor.Type) { usesStack = type is any StackUser.Type }

  /// Returns the known hooks of a type. There is one object for each type.
  static func of(_ type: any HTTPResourceInterceptor.Type) -> KnownHooks {
    types.withLock { types in
      let identifier = ObjectIdentifier(type)
      if let known = types[identifier] { return known }
      let known = KnownHooks(type)
      types[identifier] = known
      return known
    }
  }

  /// The hooks that must be called: those that the type implements, or might implement.
  var present: HookSet { HookSet.all.subtracting(HookSet(rawValue: lacking.load(ordering: .relaxed))) }

  /// Notes that the type does not implement a hook. The protocol's default implementation of the hook calls this.
  func lacks(_ hook: HookSet) { lacking.bitwiseOr(hook.rawValue, ordering: .relaxed) }
}
