// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@Suite("Trust: rotating identities")
struct RotatingIdentityTests {
  private let one = TLSOptions.Identity(certificate: .bytes([1]), key: .file("/one.key"), keyPassword: "secret")
  private let two = TLSOptions.Identity(certificate: .bytes([2]))

  @Test("An identity shows the certificate, key and password that its source has at the time")
  func current() {
    let source = RotatingIdentity(one), identity = TLSOptions.Identity(source)
    #expect(identity.certificate == .bytes([1]) && identity.key == .file("/one.key"))
    #expect(identity.keyPassword == "secret" && identity.current == one)
    source.replace(with: two)
    #expect(identity.certificate == .bytes([2]) && identity.key == nil && identity.keyPassword == nil)
    #expect(identity.current == two)
  }

  @Test("Identities are equal if their source is the same, whatever it contains")
  func equality() {
    let source = RotatingIdentity(one), identity = TLSOptions.Identity(source)
    #expect(identity == TLSOptions.Identity(source) && identity.hashValue == TLSOptions.Identity(source).hashValue)
    #expect(identity != TLSOptions.Identity(RotatingIdentity(one)) && identity != one)
    let before = identity
    source.replace(with: two)
    #expect(identity == before)
  }

  @Test("An identity that is edited no longer follows its source")
  func edited() {
    let source = RotatingIdentity(one)
    var identity = TLSOptions.Identity(source)
    identity.keyPassword = nil
    source.replace(with: two)
    #expect(identity == TLSOptions.Identity(certificate: .bytes([1]), key: .file("/one.key")))
    #expect(identity.rotation == nil)
  }

  @Test("A source that gets another source uses what that one has at the time")
  func nested() {
    let inner = RotatingIdentity(one), outer = RotatingIdentity(TLSOptions.Identity(inner))
    inner.replace(with: two)
    #expect(TLSOptions.Identity(outer).certificate == .bytes([1]))
    outer.replace(with: TLSOptions.Identity(inner))
    #expect(TLSOptions.Identity(outer).certificate == .bytes([2]))
  }

  @Test("Each replacement has a number of its own, and an equal certificate keeps it")
  func revisions() {
    let source = RotatingIdentity(one)
    let first = source.revision
    source.replace(with: one)
    #expect(source.revision == first)
    source.replace(with: two)
    let second = source.revision
    source.replace(with: one)
    #expect(Set([first, second, source.revision]).count == 3)
  }
}
