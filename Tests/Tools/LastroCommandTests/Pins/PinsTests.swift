// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro pins", .ownThread, .timeLimit(.minutes(15)))
struct PinsTests {
  private let lab: PinnedServers

  init() throws { lab = try PinnedServers() }

  private func keys(_ json: [String: Any], _ name: String) throws -> [[String: Any]] {
    try #require(json[name] as? [[String: Any]])
  }

  @Test(
    "The pin of every key type is the openssl program's, from the server and from the file",
    arguments: zip(CertificateKeyType.allCases, kinds))
  func agreement(_ type: CertificateKeyType, _ kind: String) async throws {
    let leaf = try lab.leaf("localhost", type: type)
    let server = try lab.server(leaf)
    let file = try lab.directory.write(leaf.chainPEM, to: "served.pem")
    try lab.directory.write(lab.issuer.certificatePEM, to: "issuer.pem")
    let served = try await OpenSSLProgram.run(
      """
      openssl s_client -connect 127.0.0.1:\(server.port) -servername localhost </dev/null 2>/dev/null \
        | openssl x509 -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
      """, in: lab.directory)
    let expected = [
      "sha256/" + served.filter { !$0.isWhitespace }, try await lab.openSSLPin("issuer.pem"),
      try await lab.openSSLPin(lab.rootFile),
    ]
    #expect(try await lab.openSSLPin("served.pem") == expected[0])
    let text = try await lab.pins("localhost:\(server.port)")
    #expect(text.status == 0, "\(text.errors)")
    #expect(expected.allSatisfy { text.text.contains($0) } && text.text.contains(kind), "\(text.text)")
    let chain = try keys(try await lab.pins("--json", "localhost:\(server.port)").json(), "chain")
    #expect(chain.map { $0["pin"] as? String } == expected)
    #expect(chain.map { $0["position"] as? String } == ["leaf", "intermediate", "root"])
    #expect(chain[0]["key"] as? String == kind)
    let fromFile = try keys(try await lab.pins("--json", "--cert", file).json(), "keys")
    #expect(fromFile.map { $0["pin"] as? String } == Array(expected.prefix(2)))
    #expect(server.requests.isEmpty && server.receivedBytes == 0)
  }

  private static let kinds = ["EC P-256", "EC P-384", "EC P-521", "RSA 2048", "RSA 3072", "RSA 4096", "ED25519"]

  @Test("The object has the same keys for a server, for files, and for a failure")
  func objects() async throws {
    let server = try lab.server(try lab.leaf("localhost"))
    let all: Set = [
      "host", "port", "verified", "chain", "other_certificates", "keys", "policy", "swift", "advice", "error",
    ]
    let found = try await lab.pins("--json", "localhost:\(server.port)").json()
    let files = try await lab.pins("--json", "--cert", lab.rootFile).json()
    let failed = try await Lastro.run(["pins", "--json", "localhost:\(server.port)"]).json()
    #expect([found, files, failed].allSatisfy { Set($0.keys) == all })
    #expect(found["host"] as? String == "localhost" && found["port"] as? Int == server.port)
    #expect([found, files, failed].map { $0["verified"] as? Bool } == [true, false, false])
    #expect(failed.failureWords == "tls/untrusted_certificate")
    let entry: Set = [
      "source", "position", "subject", "issuer", "names", "key", "pin", "usable", "file", "not_before", "expires",
    ]
    #expect(try (keys(found, "chain") + keys(files, "keys")).allSatisfy { Set($0.keys) == entry })
  }

  @Test("An untrusted chain, and another host's, fail as in fetch")
  func untrusted() async throws {
    let server = try lab.server(try lab.leaf("localhost"))
    for flags in [["localhost:\(server.port)"], lab.trust + ["127.0.0.1:\(server.port)"]] {
      let pins = try await Lastro.run(["pins"] + flags)
      let fetch = try await Lastro.run(["fetch"] + flags.dropLast() + ["https://\(flags[flags.count - 1])"])
      #expect(pins.status == 35 && pins.status == fetch.status)
      // Only fetch has -k.
      let errors = fetch.errors.replacing("; -k accepts any certificate of this address", with: "")
      #expect(pins.errors == errors && errors.contains("lastro: tls/"), "\(pins.errors) \(errors)")
      #expect(pins.output.isEmpty)
    }
  }

  @Test("Certificates sent besides the chain are marked as useless and not proposed")
  func others() async throws {
    let stranger = try CertificateAuthority(commonName: "Stranger")
    let server = try lab.server(try lab.leaf("localhost").adding(stranger.identity))
    let pin = try PinnedServers.pin(stranger.identity)
    let text = try await lab.pins("localhost:\(server.port)").text
    #expect(text.contains("of no use as pins\n  unusable      CN=Stranger"), "\(text)")
    #expect(text.components(separatedBy: pin).count == 2)
    let json = try await lab.pins("--json", "localhost:\(server.port)").json()
    let others = try keys(json, "other_certificates")
    #expect(others.map { $0["pin"] as? String } == [pin] && others[0]["usable"] as? Bool == false)
    #expect(try keys(json, "chain").count == 3)
  }

  @Test("The proposed policies work with --pin-policy and --check, and the Swift one has the same pins")
  func proposal() async throws {
    let leaf = try lab.leaf("localhost")
    let server = try lab.server(leaf)
    let text = try await lab.pins("localhost:\(server.port)").text
    let start = try #require(text.range(of: "\n{\n")), end = try #require(text.range(of: "\n}\n"))
    let printed = String(text[start.lowerBound..<end.upperBound])
    let json = try await lab.pins("--json", "localhost:\(server.port)").json()
    let policy = try #require(json["policy"] as? [String: Any])
    #expect(try JSONSerialization.jsonObject(with: Data(printed.utf8)) as? NSDictionary == policy as NSDictionary)
    let file = try lab.directory.write(printed, to: "policy.json")
    #expect(try await lab.fetch(server, "--pin-policy", file).text == "answer")
    let check = try await lab.pins("--check", file, "localhost:\(server.port)")
    #expect(check.status == 0 && check.text.contains("warning no_backup_pin: localhost: "), "\(check.text)")
    let swift = try #require(json["swift"] as? String)
    let pins = [try PinnedServers.pin(leaf), try PinnedServers.pin(lab.issuer.identity)]
    #expect(
      swift.hasPrefix(
        "try PinningPolicy(\n  \"localhost\",\n  pins: [\n    \"\(pins[0])\",  // leaf"))
    #expect(swift.contains("\n    \"\(pins[1])\",  // intermediate") && swift.hasSuffix("\n  ])"))
    #expect(text.contains(swift) && swift.contains("    // \"sha256/…\",  // backup key"))
    #expect(try !swift.contains(PinnedServers.pin(lab.root.identity)))
  }

  @Test("IPv6 addresses in brackets, IPv4 addresses and name spellings give the policy for the normalised host")
  func addresses() async throws {
    let server = try lab.server(try lab.leaf("localhost", "127.0.0.1", "::1", "xn--bcher-kva.test"))
    let four = try await lab.pins("127.0.0.1:\(server.port)")
    #expect(four.status == 0 && four.text.contains("\n  \"127.0.0.1\","), "\(four.errors)")
    #expect(four.text.contains("\"ipAddress\" : \"127.0.0.1\""))
    let answer = ["--resolve", "xn--bcher-kva.test:\(server.port):127.0.0.1", "Bücher.test.:\(server.port)"]
    let name = try await Lastro.run(["pins"] + lab.trust + answer)
    #expect(name.status == 0 && name.text.contains("  \"xn--bcher-kva.test\","), "\(name.errors)")
    let dead = try Loopback.freePort()
    for host in ["[::1]:\(dead)", "localhost:\(dead)"] { #expect(try await lab.pins(host).status == 7, "\(host)") }
  }

  @Test("Pins are read through plain and TLS proxies, also for an IPv6 address in brackets", arguments: [false, true])
  func proxy(isTLS: Bool) async throws {
    let server = try lab.server(try lab.leaf("api.test", "::1"))
    let proxy = try LoopbackServer.tunnel(tls: isTLS ? LoopbackTLS(try lab.leaf("localhost")) : nil)
    let way = ["--proxy", isTLS ? proxy.baseURL : "http://127.0.0.1:\(proxy.port)"]
    for host in ["api.test", "[::1]"] {
      let result = try await Lastro.run(["pins"] + lab.trust + way + ["\(host):\(server.port)"])
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.text.hasPrefix("\(host):\(server.port): verified chain\n  leaf          CN=api.test\n"))
    }
    #expect(proxy.requests.count == 2 && server.receivedBytes == 0)
    let url = "https://api.test:\(server.port)/"
    let pinned = try await Lastro.run(["fetch"] + lab.trust + way + ["--pin", "api.test=\(PinnedServers.absent)", url])
    #expect(pinned.status == 60 && pinned.errors.contains("trust/pin_mismatch: api.test:"), "\(pinned.errors)")
    let ofProxy = try await Lastro.run(
      ["fetch"] + lab.trust + way + ["--pin", "localhost=\(PinnedServers.absent)", url])
    #expect(ofProxy.status == (isTLS ? 60 : 0), "\(ofProxy.errors)")
    #expect(proxy.requests.count == (isTLS ? 3 : 4) && server.requests.count == (isTLS ? 0 : 1))
  }

  @Test("A server that does not finish the handshake is given up after --connect-timeout")
  func stall() async throws {
    let server = try lab.server(try lab.leaf("localhost")) { $0.handshakeFault = .stallInHandshake }
    let result = try await lab.pins("--connect-timeout", "0.3", "localhost:\(server.port)")
    #expect(result.status == 28 && result.errors.hasPrefix("lastro: timeout/"), "\(result.errors)")
  }

  @Test("A subject cannot inject output lines")
  func subject() async throws {
    let leaf = try lab.issuer.issue(hosts: ["localhost"], commonName: "x\n\"sha256/evil\",\u{1B}[2J\u{202E}")
    let file = try lab.directory.write(leaf.certificatePEM, to: "leaf.pem")
    let text = try await Lastro.run(["pins", "--cert", file]).text
    #expect(
      text.contains(#"CN="x\0A\"sha256/evil"#) && !text.contains("\u{1B}") && !text.contains("\u{202E}"), "\(text)")
    #expect(text.split(separator: "\n").allSatisfy { !$0.hasPrefix("\"sha256/evil") })
  }

  @Test("A file may hold several certificates, requests and public keys, and other contents are skipped")
  func files() async throws {
    let leaf = try lab.leaf("localhost")
    let pin = try PinnedServers.pin(leaf)
    try lab.directory.write(leaf.privateKeyPEM, to: "key.pem")
    let der = try await OpenSSLProgram.run(
      """
      openssl req -new -key key.pem -subj /CN=backup -out backup.csr
      openssl pkey -in key.pem -pubout -out public.pem
      cat roots/root.pem | openssl x509 -outform der -out root.der
      cat key.pem backup.csr public.pem roots/root.pem > mixed.pem
      """, in: lab.directory)
    #expect(der.isEmpty)
    func found(_ files: String...) async throws -> [[String: Any]] {
      let flags = files.flatMap { ["--cert", lab.directory.file($0)] }
      return try keys(try await Lastro.run(["pins", "--json"] + flags).json(), "keys")
    }
    let root = try PinnedServers.pin(lab.root.identity)
    #expect(try await found("backup.csr", "public.pem").map { $0["pin"] as? String } == [pin, pin])
    let mixed = try await found("mixed.pem")
    #expect(mixed.map { $0["source"] as? String } == ["request", "public_key", "certificate"])
    #expect(mixed.map { $0["pin"] as? String } == [pin, pin, root])
    #expect(mixed.allSatisfy { $0["file"] as? String == lab.directory.file("mixed.pem") })
    #expect(try await found("root.der").map { $0["pin"] as? String } == [root])
    let text = try await Lastro.run(["pins", "--cert", lab.directory.file("backup.csr")]).text
    #expect(text.contains("not verified: from files\n  request       in ") && text.contains(pin), "\(text)")
    // With a single key, the policy must not enforce a backup pin. Otherwise it could not be read back.
    #expect(text.contains("\"enforceBackupPin\" : false") && text.contains("enforceBackupPin: false)"))
  }

  @Test("A file that is missing, broken or without keys has exit status 3, and the error says what to do")
  func badFiles() async throws {
    let leaf = try lab.leaf("localhost")
    let cases: [(String, String)] = [
      (try lab.directory.write(leaf.privateKeyPEM, to: "key.pem"), "openssl pkey -in FILE -pubout"),
      (try lab.directory.write("nothing", to: "nothing"), "holds no certificate, certificate request or public key"),
      (
        try lab.directory.write(String(leaf.certificatePEM.prefix(300)), to: "half.pem"),
        "half.pem: block 1, CERTIFICATE,"
      ),
      (
        try lab.directory.write("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", to: "bad.pem"),
        "block 1, PUBLIC KEY, cannot be read"
      ),
      ("/nonexistent/file.pem", "cannot be read"), (lab.directory.path, "cannot be read"),
    ]
    for (path, words) in cases {
      let result = try await Lastro.run(["pins", "--cert", path])
      #expect(result.status == 3 && result.output.isEmpty, "\(path)")
      #expect(result.errors.hasPrefix("lastro: request/invalid_option: \(path)"), "\(result.errors)")
      #expect(result.errors.contains(words), "\(result.errors)")
      let json = try await Lastro.run(["pins", "--json", "--cert", path]).json()
      #expect(json.failureWords == "request/invalid_option")
    }
  }

  @Test(
    "An invalid argument has exit status 64, and the error says what to write",
    arguments: [
      ([], "give HOST[:PORT], --cert FILE, or --check POLICY.json"),
      (["a.test", "b.test"], "several only with --check"),
      (["a.test", "--cert", "x"], "stands alone"), (["--check", "p.json", "--cert", "x"], "stands alone"),
      (["https://a.test/"], "is a URL; write HOST or HOST:PORT"), (["a.test:0"], "is not a number from 1 to 65535"),
      (["a.test:65536"], "is not a number from 1 to 65535"),
      (["a.test:https"], "is not a number from 1 to 65535"), (["a.test:"], "is not a number from 1 to 65535"),
      (["[::1"], "bracket"),
      (["a b"], "write HOST or HOST:PORT"),
      ([""], "write HOST or HOST:PORT"), (["--check", "p.json", "a.test", "A.test.:8443"], "takes a host once"),
      (["a.test", "--client-key", "x"], "--client-cert"), (["a.test", "--cacert", "x", "--capath", "y"], "exclude"),
    ] as [([String], String)])
  func usage(_ arguments: [String], _ words: String) async throws {
    let result = try await Lastro.run(["pins"] + arguments)
    #expect(result.status == 64, "\(arguments) \(result.errors)")
    #expect(result.errors.contains(words), "\(result.errors)")
    #expect(result.errors.contains("Usage: lastro pins "), "\(result.errors)")
  }

  @Test("A client certificate is presented if the server requests one")
  func clientCertificate() async throws {
    let server = try lab.server(try lab.leaf("localhost")) {
      $0.clientAuthoritiesPEM = lab.root.rootPEM
      $0.maximumVersion = .v1_2
    }
    let client = try lab.root.issue(hosts: [], commonName: "client")
    let certificate = try lab.directory.write(client.chainPEM, to: "client.pem")
    let key = try lab.directory.write(client.privateKeyPEM, to: "client.key")
    let host = "localhost:\(server.port)"
    #expect(try await lab.pins(host).status == 35)
    #expect(try await lab.pins("--client-cert", certificate, "--client-key", key, host).status == 0)
  }
}
