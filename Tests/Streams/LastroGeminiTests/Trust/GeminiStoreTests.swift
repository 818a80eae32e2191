// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini trust while the store changes or hangs", .timeLimit(.minutes(15)))
struct GeminiStoreTests {
  typealias Base = GeminiFirstUseTests

  @Test(
    "A decision applies to the key known at the time, and another key known meanwhile needs a new one",
    arguments: [GeminiTrust.Decision.acceptOnce, .replace])
  func changedStore(decision: GeminiTrust.Decision) async throws {
    let old = try Base.certificate(), new = try Base.certificate()
    let host = try Base.host(), first = try Base.known(old), theirs = try Base.known(Base.certificate())
    let capsule = Base.capsule(new)
    let store = GeminiMemoryKnownHosts([host: first])
    let asked = EventRecorder<String>()
    let client = Base.client(
      capsule, store,
      onMismatch: { refusal in
        asked.record(refusal.certificateChange?.known.pin.description ?? "")
        guard asked.events.count == 1 else { return .refuse }
        _ = try? await store.replace(host, first, with: theirs)
        return decision
      })
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Base.start) }
    #expect(error?.code == .certificateChanged && error?.certificateChange?.known == theirs)
    #expect(asked.events == [first.pin.description, theirs.pin.description])
    #expect(store.all == [host: theirs] && capsule.requests.isEmpty)
  }

  @Test("A server that presents its remembered key again is trusted, whatever was decided about another")
  func back() async throws {
    let old = try Base.certificate()
    let capsule = Base.capsule(try Base.certificate())
    let store = GeminiMemoryKnownHosts([try Base.host(): try Base.known(old)])
    let asked = EventRecorder<String>()
    let client = Base.client(
      capsule, store,
      onMismatch: { _ in
        asked.record("")
        capsule.show(old)
        return .replace
      })
    #expect(try await client.fetch(Base.start).facts.trust == .knownHost)
    #expect(asked.events.count == 1)
    #expect(try store.all == [Base.host(): Base.known(old)])
  }

  @Test("A store that hangs is ended by the total limit and by cancelling", arguments: [true, false])
  func hanging(hangsAtOnce: Bool) async throws {
    let store = HangingStore(hangsAtOnce: hangsAtOnce)
    defer { store.gate.record("") }
    let capsule = Base.capsule(try Base.certificate())
    let work = Task { try await Base.client(capsule, store).fetch(Base.start) }
    try await store.asked.waitForEvents(count: 1)
    work.cancel()
    let cancelled = await #expect(throws: GeminiError.self) { try await work.value }
    #expect(cancelled?.stage == .cancelled)
    var configuration = GeminiConfiguration()
    configuration.trust = .firstUse(storing: store)
    configuration.totalTimeout = .milliseconds(20)
    let limited = GeminiClient(dialer: capsule, configuration: configuration)
    let late = await #expect(throws: GeminiError.self) { try await limited.fetch(Base.start) }
    #expect(late?.stage == .timeout && late?.code == .totalTimeout && capsule.requests.isEmpty)
  }

  /// A certificate whose common name is capsule.example, and whose only alternative name is an address.
  static let addressOnly = """
    -----BEGIN CERTIFICATE-----
    MIIBmzCCAUKgAwIBAgIUPfUvVIG716aZ3Dt+GPHKlrUlGywwCgYIKoZIzj0EAwIw
    GjEYMBYGA1UEAwwPY2Fwc3VsZS5leGFtcGxlMCAXDTI2MTEyMjA3MDEyMFoYDzIx
    MjYxMDI5MDcwMTIwWjAaMRgwFgYDVQQDDA9jYXBzdWxlLmV4YW1wbGUwWTATBgcq
    hkjOPQIBBggqhkjOPQMBBwNCAASrgyCLk6EFM3gIxtlJQZYtV/O46ZRmK/cT3cKm
    qQcPC89MgTUPM5iRHO8Ugj2uXIZdJAU4xBvWM063wJdjUCxoo2QwYjAdBgNVHQ4E
    FgQUKGlcuiv7ScPkNxkHBqjRJqIrcLQwHwYDVR0jBBgwFoAUKGlcuiv7ScPkNxkH
    BqjRJqIrcLQwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqG
    SM49BAMCA0cAMEQCIFjpD0nRGsx3ItEF93TT0vAuUQvWdD6gYvV25NwCh7ZYAiA0
    rx7TOe6yz7RkUMynSuOgB3dMdvZeFZA3goRvTDnJeA==
    -----END CERTIFICATE-----

    """

  @Test("A common name does not count beside alternative names of any kind")
  func commonName() throws {
    let leaf = try #require(try PeerCertificate.certificates(pem: Self.addressOnly).first)
    #expect(try !leaf.isFor(HostName("capsule.example")))
    #expect(try leaf.isFor(HostName("127.0.0.1")))
  }
}

/// A store that does not respond before its gate opens, even if the task is cancelled.
private final class HangingStore: GeminiKnownHosts {
  let asked = EventRecorder<String>(), gate = EventRecorder<String>()
  private let hangsAtOnce: Bool

  init(hangsAtOnce: Bool) { self.hangsAtOnce = hangsAtOnce }

  func knownHost(_ host: GeminiHost) async throws(ConfigurationError) -> GeminiKnownHost? {
    guard hangsAtOnce else { return nil }
    asked.record("")
    await passGate()
    return nil
  }

  func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(ConfigurationError) -> Bool {
    asked.record("")
    await passGate()
    return true
  }

  /// Waits for the gate in a task of its own, which is not cancelled with this one.
  private func passGate() async {
    _ = await Task { [gate] in try? await gate.waitForEvents(count: 1) }.value
  }
}
