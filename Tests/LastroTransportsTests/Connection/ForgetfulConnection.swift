// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Lastro
import LastroTransports

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A connection that hands everything on, but for the completions of sends.
final class ForgetfulConnection: Connection {
  private let inner: any Connection

  init(_ inner: any Connection) { self.inner = inner }

  var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? {
    get { inner.stateUpdateHandler }
    set { inner.stateUpdateHandler = newValue }
  }
  var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { inner.viabilityUpdateHandler }
    set { inner.viabilityUpdateHandler = newValue }
  }

  func start(queue: DispatchQueue) { inner.start(queue: queue) }
  func cancel() { inner.cancel() }

  func send(
    content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion
  ) {
    inner.send(content: content, contentContext: contentContext, isComplete: isComplete, completion: .idempotent)
  }

  func receive(
    minimumIncompleteLength: Int, maxLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    inner.receive(
      minimumIncompleteLength: minimumIncompleteLength, maxLength: maxLength, completion: completion)
  }
}
