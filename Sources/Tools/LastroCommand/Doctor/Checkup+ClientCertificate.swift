// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

extension Checkup {
  /// Checks that a client certificate is valid, and will be for some time.
  ///
  /// - Parameter path: the PEM file with the certificate first.
  mutating func clientCertificate(_ path: String, at now: Date = .now) {
    let file = path.onOneLine
    guard let text = try? Data(contentsOf: URL(filePath: path)) else {
      return fail("the client certificate \(file) cannot be read: give the path of a PEM file")
    }
    do throws(ConfigurationError) {
      let leaf = try PeerCertificate.certificates(pem: String(decoding: text, as: UTF8.self))[0]
      guard let facts = leaf.facts else { return fail("the client certificate \(file) cannot be read") }
      let expiry = CertificateExpiry(of: facts)
      let state = "\(expiry.text(at: now)), at \(expiry.end.inCalendar)"
      let name = "the client certificate \(file) (\(leaf.spiffeID?.text ?? facts.shortSubject))"
      if now > expiry.end {
        fail("\(name) \(state): servers refuse it; renew it")
      } else if now < facts.notBefore {
        fail("\(name) is not valid before \(facts.notBefore.inCalendar): servers refuse it; check the clock")
      } else if expiry.isAnnounced(at: now) {
        note("--", "\(name) \(state): renew it")
      } else {
        note("ok", "\(name) \(state)")
      }
    } catch {
      fail("the client certificate \(file) cannot be used: \(error.message); \(error.hint ?? "give a PEM file")")
    }
  }
}
