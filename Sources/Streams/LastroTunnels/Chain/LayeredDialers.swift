// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroHTTP

// HTTP over tunnels runs on the event loop of the bottom engine.

extension SOCKS5Dialer: LayeredDialer {
  package var dialerBelow: (any Dialer)? { below }
}

extension HTTPConnectDialer: LayeredDialer {
  package var dialerBelow: (any Dialer)? { below }
}

extension WispDialer: LayeredDialer {
  package var dialerBelow: (any Dialer)? { below }
}

extension ShadowsocksDialer: LayeredDialer {
  package var dialerBelow: (any Dialer)? { below }
}

extension MeekDialer: LayeredDialer {
  package var dialerBelow: (any Dialer)? { below }
}
