// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting

/// Starts the servers of `mock` and `proxy`.
enum LocalServer {
  /// Listens on a port of 127.0.0.1, with limits for hostile clients.
  ///
  /// - Throws: the exit status, after a message.
  static func start(port: UInt16, handler: @escaping LoopbackServer.Handler) throws -> LoopbackServer {
    do {
      return try LoopbackServer(port: port, bounds: LoopbackBounds(), handler: handler)
    } catch {
      Console.error("lastro: cannot listen on port \(port) of 127.0.0.1: \("\(error)".onOneLine) (give another --port)")
      throw ExitCode.failure
    }
  }

  /// Returns a refusal of requests that a browser sends for a page of another host: under a name of its own that leads to
  /// this machine (DNS rebinding), or across origins. Programs send `Host` as the address has it, and no `Origin`.
  static func refusal(of request: LoopbackRequest) -> LoopbackResponse? {
    func isLocal(_ url: String) -> Bool { (try? Origin(url))?.isLoopback ?? false }
    let hosts = request.head.values("Host")
    guard hosts.count == 1, isLocal("http://" + hosts[0]) else {
      return .refusal(403, "Host is not an address of this machine; use the printed address")
    }
    guard request.head.values("Origin").allSatisfy(isLocal) else {
      return .refusal(403, "Origin is not of this machine; serve the page from localhost")
    }
    return nil
  }

  /// Returns the reason why a file cannot be read or written.
  static func words(_ error: any Error) -> String {
    switch error as? PrivateFile.Failure {
    case .system(let words, let reason, let hint): "\(words) it: \(reason) (\(hint))"
    case .unfit: "it is not a regular file of at most 16 MiB (name another file)"
    case .notText: "it is not UTF-8 (name another file)"
    case .tooLarge(let count): "it would have \(count) bytes, above the maximum of 16 MiB (record less)"
    case nil: "\(error)"
    }
  }
}

extension MockTarget {
  /// Returns the name of a field that a server may send; `nil` for others.
  static func field(_ name: String) -> String? {
    framing.contains(name.lowercased()) ? nil : HTTPField.Name(name)?.rawName
  }

  static func isValue(_ text: String) -> Bool { HTTPField.isValidValue(text) }
}
