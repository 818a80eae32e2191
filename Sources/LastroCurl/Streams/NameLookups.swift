// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Look-ups of names for datagrams, on threads of their own: `getaddrinfo` blocks for as long as it likes.
///
/// A look-up that was given up goes on until the system answers, and its answer is dropped.
final class NameLookups: Sendable {
  static let shared = NameLookups()
  /// At work at once in this process; further ones wait.
  private static let mostThreads = 16

  private struct State {
    var dials: [StreamDial] = []
    var threads = 0
  }

  private let state = EngineLock(State())

  /// Posts the addresses to the dial's loop.
  func submit(_ dial: StreamDial) {
    let mustStart = state.withLock { state in
      state.dials.append(dial)
      guard state.threads < Self.mostThreads else { return false }
      state.threads += 1
      return true
    }
    if mustStart, !Self.startThread() { abandon() }
  }

  private static func startThread() -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    return pthread_create(
      &thread, &attributes,
      { _ in
        clastro_name_thread("lastro-lookup")
        NameLookups.shared.run()
        return nil
      }, nil) == 0
  }

  /// No thread could be had: where none is at work either, those who wait are told.
  private func abandon() {
    let dials = state.withLock { state in
      state.threads -= 1
      guard state.threads == 0 else { return [StreamDial]() }
      defer { state.dials = [] }
      return state.dials
    }
    let error = TransportError(
      stage: .resolve, code: .engineFailure, message: "no thread could be started to resolve the name")
    for dial in dials { _ = dial.loop.post(.stream(.resolved(dial, .failure(error)))) }
  }

  private func run() {
    while let dial = next() {
      if dial.isSettled { continue }
      _ = dial.loop.post(.stream(.resolved(dial, Self.addresses(of: dial.host))))
    }
  }

  private func next() -> StreamDial? {
    state.withLock { state in
      guard !state.dials.isEmpty else {
        state.threads -= 1
        return nil
      }
      return state.dials.removeFirst()
    }
  }

  private static func addresses(of host: HostName) -> Result<[String], TransportError> {
    var found: [String] = []
    let code = withUnsafeMutablePointer(to: &found) { found in
      clastro_resolve(host.text, found) { found, address in
        found.assumingMemoryBound(to: [String].self).pointee.append(String(cString: address))
      }
    }
    guard code == 0, !found.isEmpty else {
      return .failure(
        TransportError(
          stage: .resolve, code: .hostNotFound,
          message: "the host name has no address: \(String(cString: clastro_resolve_error(code)))",
          hint: "check the name, and DNS on this machine", engineCode: code))
    }
    return .success(found)
  }
}
